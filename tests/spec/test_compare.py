"""The comparison finds what it is for: each planted difference, and no other."""

import tempfile
import unittest
from pathlib import Path

import compare

PAGE = """# A page

Begins with `one` and 65 536 bytes.

## 1. First

* A `point` that says 10 things (`other.md` §2).
* Another `rule`, from 1 to 8.

| key | default |
|---|---|
| `limit` | 25 |

```json
{ "id": "msg_1", "since": null }
```
"""


def found(ours, theirs=PAGE):
    with tempfile.TemporaryDirectory() as folder:
        folders = [Path(folder, name) for name in ("ours", "theirs")]
        for place, text in zip(folders, (ours, theirs)):
            place.mkdir()
            (place / "page.md").write_text(text, encoding="utf-8")
        return list(compare.differences(*folders))


class Differences(unittest.TestCase):
    def test_other_words_are_none(self):
        said = PAGE.replace("Begins with `one` and\n", "Starts: `one`,\n")
        said = said.replace("A `point` that says 10 things", "Of 10 things\n  the `point` is one")
        self.assertEqual(found(said), [])

    def test_each_planted_one_is_found(self):
        for old, new, want in [
            ("65 536", "65 537", ["- number 65536", "+ number 65537"]),
            ("`point`", "`pointer`", ["- code point", "+ code pointer"]),
            ("`point`", "point", ["- code point"]),
            ("§2", "§3", ["- number §2", "+ number §3"]),
            ('"since": null', '"since": 0', ["- code null", "+ code 0"]),
            ("| `limit` | 25 |\n", "", ["- clause | `limit` | 25 |"]),
            ("* Another `rule`, from 1 to 8.\n", "", ["- clause * Another `rule`, from 1 to"]),
            ("## 1. First", "## 1. Second", ["- heading ## 1. First", "+ heading ## 1. Second"]),
        ]:
            self.assertIn(old, PAGE)
            lines = found(PAGE.replace(old, new))
            self.assertEqual(len(lines), len(want), lines)
            for line, end in zip(lines, want):
                self.assertTrue(line.endswith(end), (line, end))

    def test_a_missing_section_is_found(self):
        lines = found(PAGE[: PAGE.index("## 1.")])
        self.assertIn("page.md §1 - heading ## 1. First", lines)
        self.assertEqual(sum(" - clause " in line for line in lines), 5)

    def test_a_clause_of_our_own_is_found(self):
        lines = found(PAGE.replace("| key", "* Quite new is this `thing`.\n\n| key"))
        self.assertEqual(lines, ["page.md §1 after #2 + clause * Quite new is this `thing`."])

    def test_a_line_of_the_list_has_a_topic(self):
        self.assertEqual(list(compare.listed("# why\n\nturns: page.md - page\n")), ["page.md - page"])
        with self.assertRaises(SystemExit):
            list(compare.listed("page.md - page\n"))


if __name__ == "__main__":
    unittest.main()
