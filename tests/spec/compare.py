#!/usr/bin/env python3
"""Compares docs/spec with the specification that it restates, clause by clause.

    tests/spec/compare.py [FOLDER]   compares with FOLDER, by default ../shared/spec
    tests/spec/compare.py --show [FOLDER]   prints the differences as not-built.txt has them

A clause is a paragraph, an item, a row of a table or a block of code. Clauses of a section are
aligned by their words; compared are headings, code spans and numbers. Each difference is a line of
not-built.txt, after the topic of the issue that removes it (`wording`: it stays). The comparison
fails on a difference that is not listed, and on a listed one that does not exist.

A difference in words alone is listed by hand, as `topic: page §n - words …`, words of the authority.
The comparison fails if the authority no longer has them, or if docs/spec has them.
"""

import re
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
LISTED = Path(__file__).with_name("not-built.txt")

HEADING = re.compile(r"^(#+) ((\d+(?:\.\d+)*)?.*)$")
# Where a clause begins within lines that no blank line divides.
BEGINNING = re.compile(r"^(\* |- |\d+\. |\||\*\*[A-Z][a-z]+\*\*(?: |$))")
SPAN = re.compile(r"(`+)(.+?)\1", re.DOTALL)
# What a code span with structure consists of.
PART = re.compile(r'"[^"]*"|[^\s{}\[\](),:|…"]+')
NUMBER = re.compile(
    r"§ ?\d+(?:\.\d+)*"
    r"|\d{4}-\d\d-\d\d"
    r"|−?\d{1,3}(?: \d{3})+(?!\d)"
    r"|−?\d+(?:\.\d+)*"
)
WORD = re.compile(r"[a-z_]{3,}")
# Below this likeness two clauses are not taken for one.
LIKENESS_MIN = 0.2
# What stands between the place and the words of a difference in words alone.
WORDS = " - words "


class Clause:
    """What is compared of a clause, and the words by which it is found."""

    def __init__(self, text, is_code=False):
        self.spans = Counter()
        self.numbers = Counter()
        if is_code:
            self.add_parts(text)
            rest = ""
        else:
            rest = SPAN.sub(self.take_span, " ".join(text.split()))
        for number in NUMBER.findall(rest):
            self.numbers[number.replace(" ", "")] += 1
        self.words = Counter(WORD.findall(rest.lower()))
        self.opening = " ".join(text.split()[:6])

    def take_span(self, match):
        """Notes a code span and leaves nothing of it in the text."""
        span = match[2].strip()
        if re.search(r'["\[]|^\{', span):
            self.add_parts(span)
        else:
            self.spans[span] += 1
        return " "

    def add_parts(self, code):
        for part in PART.findall(code):
            self.spans[part] += 1

    def likeness(self, other):
        """0 to 1: the part of spans, numbers and words that both have."""
        common = total = 0
        for weight, of in ((3, "spans"), (2, "numbers"), (1, "words")):
            mine, theirs = getattr(self, of), getattr(other, of)
            common += weight * 2 * sum((mine & theirs).values())
            total += weight * (sum(mine.values()) + sum(theirs.values()))
        return common / total if total else 1.0


class Page:
    """A page: its headings, and the clauses of each section under the section's number."""

    def __init__(self, text):
        self.headings = {}
        self.sections = {}
        self.clauses = self.sections.setdefault("0", [])
        self.lines = []
        fence = None
        for line in text.splitlines():
            if line.startswith("```"):
                if fence is None:
                    self.end_clause()
                    fence = []
                else:
                    self.clauses.append(Clause("\n".join(fence), is_code=True))
                    fence = None
            elif fence is not None:
                fence.append(line)
            else:
                self.read(line)
        self.end_clause()

    def read(self, line):
        heading = HEADING.match(line)
        if heading:
            self.end_clause()
            number = heading[3] or "0"
            self.headings.setdefault(number, []).append(heading[1] + " " + heading[2].strip())
            self.clauses = self.sections.setdefault(number, [])
        elif not line.strip():
            self.end_clause()
        elif BEGINNING.match(line):
            self.end_clause()
            self.lines = [line]
        else:
            self.lines.append(line)

    def end_clause(self):
        text = "\n".join(self.lines)
        self.lines = []
        # The line below a table's head says nothing.
        if text.strip() and not re.fullmatch(r"[|: -]+", text):
            self.clauses.append(Clause(text))


def aligned(ours, theirs):
    """Pairs of clauses in order, None where one side has no counterpart."""
    best = [[(0.0, None)] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i in range(len(ours), -1, -1):
        for j in range(len(theirs), -1, -1):
            options = []
            if i < len(ours):
                options.append((best[i + 1][j][0], (1, 0)))
            if j < len(theirs):
                options.append((best[i][j + 1][0], (0, 1)))
            if i < len(ours) and j < len(theirs):
                likeness = ours[i].likeness(theirs[j])
                if likeness >= LIKENESS_MIN:
                    options.append((best[i + 1][j + 1][0] + likeness, (1, 1)))
            if options:
                best[i][j] = max(options)
    i = j = 0
    while i < len(ours) or j < len(theirs):
        step = best[i][j][1]
        yield (ours[i] if step[0] else None, theirs[j] if step[1] else None)
        i, j = i + step[0], j + step[1]


def counted(kind, ours, theirs):
    """A line for each value that one side has more often."""
    for sign, more in (("-", theirs - ours), ("+", ours - theirs)):
        for value, times in sorted(more.items()):
            yield f"{sign} {kind} {value}" + (f" ×{times}" if times > 1 else "")


def of_section(place, ours, theirs):
    """The differences of a section; a clause is named by its place in the authority's section."""
    place_theirs = 0
    for mine, other in aligned(ours, theirs):
        if other is None:
            yield f"{place} after #{place_theirs} + clause {mine.opening}"
            continue
        place_theirs += 1
        clause = f"{place} #{place_theirs}"
        if mine is None:
            yield f"{clause} - clause {other.opening}"
            continue
        for line in counted("code", mine.spans, other.spans):
            yield f"{clause} {line}"
        for line in counted("number", mine.numbers, other.numbers):
            yield f"{clause} {line}"


def of_page(name, ours, theirs):
    ours, theirs = Page(ours), Page(theirs)
    for number in [*theirs.sections, *(n for n in ours.sections if n not in theirs.sections)]:
        place = f"{name} §{number}"
        headings = [page.headings.get(number, []) for page in (ours, theirs)]
        if headings[0] != headings[1]:
            for sign, texts in (("-", headings[1]), ("+", headings[0])):
                yield from (f"{place} {sign} heading {text}" for text in texts)
        yield from of_section(
            place, ours.sections.get(number, []), theirs.sections.get(number, [])
        )


def differences(ours, theirs):
    """All differences between two folders, in the order of pages and sections."""
    names = sorted({path.name for folder in (ours, theirs) for path in folder.glob("*.md")})
    for name in names:
        there = [(folder / name).exists() for folder in (ours, theirs)]
        if not all(there):
            yield f"{name} {'+' if there[0] else '-'} page"
            continue
        texts = [(folder / name).read_text(encoding="utf-8") for folder in (ours, theirs)]
        yield from of_page(name, *texts)


def listed(text):
    """The differences listed, without their topics."""
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        topic, _, difference = line.partition(": ")
        if not re.fullmatch("[a-z]+", topic) or not difference:
            raise SystemExit(f"{LISTED.name}:{number}: a line is `topic: difference`")
        yield difference


def stale(line, ours, theirs):
    """Whether the words of a line by hand are no difference."""
    place, _, words = line.partition(WORDS)
    name = place.split(" ")[0]
    texts = [(folder / name).read_text(encoding="utf-8") for folder in (ours, theirs)]
    texts = [" ".join(text.split()) for text in texts]
    return words in texts[0] or words not in texts[1]


def main():
    arguments = sys.argv[1:]
    shows = arguments[:1] == ["--show"]
    folders = arguments[shows:]
    theirs = Path(folders[0]) if folders else ROOT.parent / "shared" / "spec"
    if not theirs.is_dir():
        print(f"SKIPPED: {theirs} is not there, so docs/spec is compared with nothing")
        return 0
    ours = ROOT / "docs" / "spec"
    found = list(differences(ours, theirs))
    if shows:
        print("\n".join(found))
        return 0
    lines = list(listed(LISTED.read_text(encoding="utf-8")))
    by_hand = [line for line in lines if WORDS in line]
    known = Counter(line for line in lines if WORDS not in line)
    unlisted = list((Counter(found) - known).elements())
    gone = list((known - Counter(found)).elements())
    gone += [line for line in by_hand if stale(line, ours, theirs)]
    for line in unlisted:
        print(f"not listed: {line}")
    for line in gone:
        print(f"listed, but not there: {line}")
    count = len(found) + len(by_hand)
    print(f"{count} differences, {len(unlisted)} not listed, {len(gone)} listed in vain")
    return 1 if unlisted or gone else 0


if __name__ == "__main__":
    sys.exit(main())
