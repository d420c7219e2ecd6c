"""The laboratory: each section with figures says when they came and by which command, or is listed with why not."""

import re
from pathlib import Path
from typing import NamedTuple

import pytest

LAB = Path(__file__).parents[2] / "docs" / "lab"
WHEN = re.compile(r"20\d\d-\d\d-\d\d|(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,12}\+?(?![\w-])")
HOW = re.compile(
    r"`[^`]*(?:heapsmith|make |pytest|bench/)[^`]*`|test_\w+\.py|^ *(?:heapsmith|python -m|make) ", re.MULTILINE
)
FIGURE = re.compile(r"(?<![\w.#-])\d[\d,]*(?:\.\d+)?(?![\w-])")
NO_FIGURE = re.compile(r"^```.*?^```$|<!--.*?-->|`[^`]*`|\]\([^)]*\)", re.MULTILINE | re.DOTALL)
MANY = 5
"""From this number of figures on a section says when and how; fewer are sizes and limits that explain."""
WHY_NOT = {
    ("bench.md", "Rows"): "what each row does, as its program has it: nothing is measured",
    ("prices.md", "Caches, TLBs, pages"): "what the model counts: nothing is measured",
    ("mechanisms.md", "Mechanisms"): "figures of another allocator's log; each row of the table has its commit",
    ("hardening.md", "What each mechanism costs"): "libraries that were made for this table; it says so",
}
"""By page and section: why it names no commit or no command."""


class Section(NamedTuple):
    """A heading's depth and title, and its own text up to the next heading."""

    depth: int
    title: str
    text: str


def sections(page: str) -> list[Section]:
    """The sections of a page; what looks like a heading in a block of code is none."""
    found: list[Section] = []
    fenced = False
    for line in page.splitlines():
        fenced ^= line.startswith("```")
        heading = None if fenced else re.match(r"(#+) (.*)", line)
        if heading:
            found.append(Section(len(heading[1]), heading[2], ""))
        elif found:
            found[-1] = found[-1]._replace(text=f"{found[-1].text}{line}\n")
    return found


def figures(text: str) -> int:
    """How many figures a text has, outside of code, links, dates and commits."""
    return len(FIGURE.findall(WHEN.sub("", NO_FIGURE.sub("", text))))


def lacking(page: str) -> list[str]:
    """The titles of sections with figures that do not say when or how, nor does a section around them."""
    around: list[Section] = []
    found = []
    for one in sections(page):
        around = [*(outer for outer in around if outer.depth < one.depth), one]
        said = "\n".join(outer.text for outer in around)
        if figures(one.text) >= MANY and not (WHEN.search(said) and HOW.search(said)):
            found.append(one.title)
    return found


@pytest.mark.parametrize("page", sorted(LAB.glob("*.md")), ids=lambda page: page.stem)
def test_sections_say_when_and_how_their_figures_came(page: Path) -> None:
    assert lacking(page.read_text()) == [title for name, title in WHY_NOT if name == page.name]


TABLE = "| 1 | 2 | 3 | 4 | 5 |\n"


@pytest.mark.parametrize(
    ("page", "titles"),
    [
        (f"# A\n## B\n{TABLE}By `make b`, 2026-11-30.\n## C\n{TABLE}By `make c`.\n", ["C"]),
        (f"# A\nBy `make a` at 1234abcd.\n## B\n{TABLE}", []),
        (f"# A\n## B\nBy `make b` at 1234abcd.\n### C\n{TABLE}## D\n{TABLE}", ["D"]),
        (f"# A\n{TABLE}Of 2026-11-30.\n", ["A"]),
        ("# A\nFour of 8, 16, 32 and 64; `1 2 3`, [b](b-6.md#7), at 1234abcd.\n", []),
        (f"# A\n```\n# B\n{TABLE}```\n", []),
    ],
)
def test_a_section_without_is_noticed(page: str, titles: list[str]) -> None:
    assert lacking(page) == titles
