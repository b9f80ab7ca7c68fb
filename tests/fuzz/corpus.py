"""A corpus between a folder of inputs, as libFuzzer has it, and a text with an input a line.

    corpus.py unpack FILE DIR | corpus.py pack DIR FILE

Printable ASCII stands for itself, a backslash for itself twice, every other byte as \\xNN.
"""

import hashlib
import pathlib
import re
import sys


def escaped(data):
    shown = lambda byte: chr(byte) if 0x20 <= byte < 0x7F and byte != 0x5C else f"\\x{byte:02x}"
    text = "".join("\\\\" if byte == 0x5C else shown(byte) for byte in data)
    # A number sign would begin a comment, and editors eat spaces at the end of a line.
    text = "\\x23" + text[1:] if text.startswith("#") else text
    return text[:-1] + "\\x20" if text.endswith(" ") else text


def unescaped(line):
    piece = lambda found: b"\\" if found[0] == b"\\\\" else bytes([int(found[0][2:], 16)])
    return re.sub(rb"\\\\|\\x[0-9a-f]{2}", piece, line.encode())


def main():
    what, source, sink = sys.argv[1:]
    if what == "unpack":
        for line in pathlib.Path(source).read_text().splitlines():
            if line and not line.startswith("#"):
                data = unescaped(line)
                (pathlib.Path(sink) / hashlib.sha1(data).hexdigest()).write_bytes(data)
    else:
        inputs = {path.read_bytes() for path in pathlib.Path(source).iterdir()}
        lines = [escaped(data) for data in sorted(inputs, key=lambda it: (len(it), it)) if data]
        pathlib.Path(sink).write_text("".join(line + "\n" for line in lines))


main()
