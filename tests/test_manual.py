"""The manual: the blocks of start, tutorials and howto run, and print the lines that they show; it stays short."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import complaint

DOCS = Path(__file__).resolve().parent.parent / "docs"
HOWTO = sorted((DOCS / "howto").glob("*.md"))
TUTORIALS = [DOCS / "start.md", *sorted((DOCS / "tutorials").glob("*.md"))]
BLOCK = re.compile(r"^```(sh|python|text|text varies)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
TOOLS = {"gcc": "gcc ", "g++": "g++ ", "perl": "perl ", "cargo": "cargo "}
PACKAGES = {"pyarrow.parquet": "heapsmith sweep "}
FIGURE = re.compile(r"[+-]?\d[\d.,]*[x%]?")
UNIT = re.compile(r"^(?:B|KiB|MiB|GiB|ns|us|ms|s)\b")


def compared(text: str, varies: bool) -> list[str]:
    """The words of a text; where figures vary from run to run, each figure and each unit counts as any other."""
    words = text.split()
    return [UNIT.sub("unit", FIGURE.sub("0", word)) for word in words] if varies else words


def missing(page: str, said: dict[int, str]) -> list[str]:
    """The lines that a page shows, of which the commands before them did not print each word.

    Words, because a table breaks its columns where a time is long.
    """
    lines, output = [], ""
    for number, (kind, text) in enumerate(BLOCK.findall(page)):
        if kind in ("sh", "python"):
            output = said[number]
        else:
            varies = kind == "text varies"
            printed = set(compared(output, varies))
            lines += [line for line in text.strip().splitlines() if not printed.issuperset(compared(line, varies))]
    return lines


@pytest.mark.thorough
@pytest.mark.parametrize("page", [*TUTORIALS, *HOWTO], ids=lambda page: page.stem)
def test_the_commands_of_a_page_run(page: Path, tmp_path: Path, shell_environment: dict[str, str]) -> None:
    text = page.read_text()
    if lacking := [tool for tool, used in TOOLS.items() if used in text and shutil.which(tool) is None]:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    for package, used in PACKAGES.items():
        if used in text:
            pytest.importorskip(package, reason=f"the page needs {package}")
    work = tmp_path / "a folder"
    work.mkdir()
    said = {}
    for number, (kind, block) in enumerate(BLOCK.findall(text)):
        if kind in ("sh", "python"):
            shell = ["bash", "-eu", "-o", "pipefail", "-c", f"exec 2>&1\n{block}"]
            command = shell if kind == "sh" else [sys.executable, "-c", block]
            done = subprocess.run(
                command, cwd=work, env=shell_environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, check=False
            )
            said[number] = complaint(done.stdout.decode())
            assert done.returncode == 0, said[number]
    assert said
    assert missing(text, said) == []


def test_a_line_that_is_not_printed_is_noticed() -> None:
    page = "```sh\ntrue\n```\n```text\na b  2 MiB\na  3 MiB\nc\n```\n"
    assert missing(page, {0: "a     2 MiB\nb\n"}) == ["a  3 MiB", "c"]


def test_figures_may_vary_where_the_page_says_so() -> None:
    page = "```sh\ntrue\n```\n```text varies\na  3.5 MiB  -2.1% (-3 to +4)\nb  3 MiB\n```\n"
    assert missing(page, {0: "a  900 KiB  +1% (1.5 to 2)\n"}) == ["b  3 MiB"]


QUESTIONS = {
    *("who-holds-memory", "why-rss-stays-high", "choose-a-malloc", "tune-and-ship", "guard-in-ci", "debug-misuse"),
    *("import-a-trace", "sweep-on-a-cluster", "add-a-policy"),
}
"""The questions of which each has a page of its own."""
TAUGHT = {"cpp-service", "python", "rust", "fleet", "lab"}


def test_each_question_has_a_short_page() -> None:
    assert {page.stem for page in HOWTO} == QUESTIONS
    assert {page.stem for page in TUTORIALS} == TAUGHT | {"start"}
    for page in HOWTO:
        assert len(page.read_text().splitlines()) <= 80, page.name
    for page in TUTORIALS:
        assert len(page.read_text().splitlines()) <= 220, page.name


def test_blocks_are_run() -> None:
    """No page shows what a command prints in a block that is not compared."""
    for page in [*TUTORIALS, *HOWTO]:
        kinds = set(re.findall(r"^```(\S.*)$", page.read_text(), re.MULTILINE))
        assert kinds <= {"sh", "python", "text", "text varies", "c", "toml", "yaml", "dockerfile"}, page.name


GENERATED = {"commands", "design-fields", "reference"}
"""Pages made from the help, from the schema and from docstrings."""
BESIDE = {"Specification", "Laboratory"}
"""Groups of the navigation for those who change heapsmith or check its figures, which nobody needs to use it."""
TOLD = re.compile(r"^\| ([^|]+) \| [\d,]+ \| [\d,]+ \| (\d+) \| ([\d,]+) \|$", re.MULTILINE)
"""A row of the laboratory's table: a kind, pages and words then and now."""
MOST_PAGES, MOST_WORDS, MOST_EXPLAINED = 30, 45_000, 1_500


def navigation() -> dict[str, list[str]]:
    """The pages of the site's navigation by its groups."""
    trees = re.findall(r"^```{toctree}\n(.*?)^```$", (DOCS / "index.md").read_text(), re.MULTILINE | re.DOTALL)
    lines = [[line for line in tree.splitlines() if line and line != ":hidden:"] for tree in trees]
    return {first.removeprefix(":caption: "): names for first, *names in lines}


def words_of(name: str) -> int:
    """The words of a page: whatever stands between spaces, in prose, tables and code alike."""
    (path,) = (path for path in DOCS.glob(f"{name}.*") if path.suffix in {".md", ".rst", ".ipynb"})
    if path.suffix == ".ipynb":
        return sum(len("".join(cell["source"]).split()) for cell in json.loads(path.read_text())["cells"])
    return len(path.read_text().split())


def test_the_manual_is_at_most_thirty_pages() -> None:
    """By group: what a user reads, without what is generated."""
    counted = {
        group: {name: words_of(name) for name in names if name not in GENERATED}
        for group, names in navigation().items()
        if group not in BESIDE
    }
    assert set(counted) == {"Start", "How to", "How it works", "Reference"}
    assert sum(len(pages) for pages in counted.values()) <= MOST_PAGES, counted
    assert sum(sum(pages.values()) for pages in counted.values()) + words_of("index") <= MOST_WORDS, counted
    assert all(words <= MOST_EXPLAINED for words in counted["How it works"].values()), counted


def test_the_words_of_the_pages_are_told() -> None:
    """By kind, now: the table of the laboratory is right in pages, and in words within a twentieth."""
    pages = {group: [name for name in names if name not in GENERATED] for group, names in navigation().items()}
    of = {
        "start and tutorials": pages["Start"],
        "how-to": pages["How to"],
        "how it works": pages["How it works"],
        "reference, by hand": pages["Reference"],
        "manual (with the index)": [
            "index",
            *(name for group in pages if group not in BESIDE for name in pages[group]),
        ],
        "reference, generated": sorted(GENERATED),
        "specification": pages["Specification"],
        "laboratory": pages["Laboratory"],
    }
    section = (DOCS / "lab" / "testing.md").read_text().partition("\n## Words of the pages\n")[2].partition("\n## ")[0]
    told = {kind: (int(count), int(words.replace(",", ""))) for kind, count, words in TOLD.findall(section)}
    assert told.keys() == of.keys()
    for kind, (count, words) in told.items():
        assert count == len(of[kind]) - of[kind].count("index"), kind
        assert abs(words - sum(map(words_of, of[kind]))) <= words / 20, kind


def test_every_page_is_in_the_navigation_once() -> None:
    named = [name for names in navigation().values() for name in names]
    files = {
        path.relative_to(DOCS).with_suffix("") for kind in ("md", "rst", "ipynb") for path in DOCS.rglob(f"*.{kind}")
    }
    assert sorted(named) == sorted(str(path) for path in files if str(path) != "index")
    assert {f"howto/{page.stem}" for page in HOWTO} == set(navigation()["How to"])
