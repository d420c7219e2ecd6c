"""The pages of the machine: each room has its section, rows, fields and folders there; references lead there."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from heapsmith.model import policy
from heapsmith.model.design.design import Design, parse
from heapsmith.model.parts.counters import COUNTS, LOCKS, PATHS, STAGES, TOTALS, UNTOLD_LOCKS

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
MACHINE, ROOMS = ((ROOT / "docs" / name).read_text() for name in ("machine.md", "machine-rooms.md"))
OTHERS = {"Where the rooms act", "Choices without a room"}
FIELDS = {rows[0].__name__.split(".")[-2]: field for field, rows in policy.TABLES.items()}
"""The field of a design by the room that it chooses a row of."""


def sections(page: str) -> dict[str, str]:
    """The sections of a page by their titles."""
    return {part.partition("\n")[0]: part.partition("\n")[2] for part in page.split("\n## ")[1:]}


def plain() -> Design:
    """The design of the plain machine."""
    found = re.search(r"```toml\n(.*?)```", MACHINE, re.DOTALL)
    assert found
    return parse(found[1], "docs/machine.md")


def rows_of(room: str) -> list[ModuleType]:
    """The rows of a room, and the short words for some of them."""
    rows = policy.TABLES[FIELDS[room]]
    return [*rows, *getattr(importlib.import_module(rows[0].__name__.rpartition(".")[0]), "SPELLINGS", ())]


def numbers_of(row: ModuleType) -> set[str]:
    """The fields by which a design states a row."""
    params = getattr(row, "Params", None)
    return {field.name for field in msgspec.structs.fields(params)} if params else set(getattr(row, "FIELD_STEPS", ()))


def table(section: str) -> dict[str, tuple[bool, set[str]]]:
    """Of the rows in a section's table: whether it is bold, and the fields in its last cell."""
    lines = section.partition("| numbers |\n|---|---|---|\n")[2].partition("\n\n")[0].splitlines()
    found = {}
    for line in lines:
        cells = line.strip("| ").split(" | ")
        for name in re.findall(r"`(\w+)`", cells[0]):
            found[name] = ("**" in cells[0], set(re.findall(r"`(\w+)`", cells[-1])) if len(cells) == 3 else {"?"})
    return found


def folders(room: str) -> set[str]:
    """The folders of a room."""
    found = [*(ROOT / "runtime/heap").glob(f"*/{room}"), ROOT / "model/policy" / room, ROOT / "templates" / room]
    return {f"{path.relative_to(ROOT)}/" for path in found if path.is_dir()}


def faults(page: str) -> Iterator[str]:
    """What the page of the rooms lacks, or has wrong."""
    found, design = sections(page), plain()
    if [name for name in found if name not in OTHERS] != sorted(FIELDS):
        yield f"sections: {sorted(found.keys() ^ FIELDS.keys() ^ OTHERS) or 'their order'}"
    for room in FIELDS.keys() & found.keys():
        section = found[room]
        places = [section.find(part) for part in ("| row |", "| numbers |\n", "**Files.**", "**Counts.**")]
        if -1 in places or places != sorted(places):
            yield f"{room}: parts"
        rows = table(section)
        if rows.keys() != {row.NAME for row in rows_of(room)}:
            yield f"{room}: rows {sorted(rows.keys() ^ {row.NAME for row in rows_of(room)})}"
        for row in rows_of(room):
            if row.NAME in rows and rows[row.NAME][1] != numbers_of(row):
                yield f"{room}: numbers of {row.NAME}"
        if [name for name, (bold, _) in rows.items() if bold] != [design.row(FIELDS[room]).NAME]:
            yield f"{room}: bold"
        files = section.partition("**Files.**")[2].partition("\n\n")[0]
        if set(re.findall(r"`([\w/]+)`", files)) != folders(room):
            yield f"{room}: files"
        counts = section.partition("**Counts.**")[2].partition("\n## ")[0]
        if "Nothing" not in counts and not re.search(r"`\w+`|No counter", counts):
            yield f"{room}: counts"


def test_every_room_has_its_section() -> None:
    assert list(faults(ROOMS)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        ("\n## thp\n", "\n## huge pages\n", "sections: "),
        ("| `fifo_ring` |", "| `ring` |", "front: rows ['fifo_ring', 'ring']"),
        ("| **`off`** | a freed huge", "| `off` | a freed huge", "huge_cache: bold"),
        ("`kept_bytes`, `delay`, `slack_percent` |", "`kept_bytes`, `delay` |", "huge_cache: numbers of delayed"),
        ("`runtime/heap/8_threads/opening/`", "`runtime/heap/7_large/opening/`", "opening: files"),
        ("**Counts.** `hit1` in class c.", "It counts `hit1`.", "rounding: parts"),
    ],
)
def test_what_the_page_lacks_is_noticed(old: str, new: str, fault: str) -> None:
    assert old in ROOMS
    assert any(found.startswith(fault) for found in faults(ROOMS.replace(old, new)))


def test_the_plain_machine_is_short() -> None:
    assert len(MACHINE.split()) <= 4500


def test_every_counter_is_defined_in_order() -> None:
    section = sections(MACHINE)["Counters"]
    cells = [line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `")]
    assert re.findall(r"`(\w+)`", "".join(cells)) == [*COUNTS, *TOTALS]
    locks = sections(ROOMS)["counting"].partition("\n### Locks\n")[2]
    first = [line.split(" | ")[0] for line in locks.splitlines() if line.startswith("| `")]
    names = re.findall(r"`(\w+)`", "".join(first))
    assert names[-len(STAGES) :] == list(STAGES)
    assert set(names) == {"take", "acquire", *PATHS, *UNTOLD_LOCKS, *STAGES}
    assert {name.partition(".")[0] for name in LOCKS} <= set(names)


REFERENCE = re.compile(r"docs/([\w/-]+\.md),[\s*]+((?:'[^'\n]+'(?:, | and )?)+)")
"""A page and sections of it, as comments name them."""

NUMBERED = re.compile(r"machine(?:-rooms)?\.md,?[\s*]+(?:sections? )?\d")
"""A section by a number, which changes with the page."""


def sources() -> Iterator[Path]:
    """The files with code and comments."""
    for folder in ("model", "codegen", "templates", "runtime", "tools", "bench", "src/heapsmith/api", "tests"):
        for path in (ROOT / folder).rglob("*"):
            if path.suffix in {".py", ".c", ".h", ".j2"} and path != Path(__file__):
                yield path


def test_references_name_sections_that_exist() -> None:
    named = 0
    for path in sources():
        text = path.read_text()
        assert NUMBERED.search(text) is None, f"{path}: name the section"
        for page, names in REFERENCE.findall(text):
            titles = re.findall(r"^#+ (?:\d+\. )?(.*)$", (ROOT / "docs" / page).read_text(), re.MULTILINE)
            known = {title.lower().replace("`", "") for title in titles}
            assert set(re.findall(r"'([^']+)'", names)) <= known, f"{path}: {page}, {names}"
            named += 1
    assert named > 50


def test_links_to_sections_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for name, anchor in re.findall(r"\]\(([\w./-]*\.md)?#([\w-]+)\)", page.read_text()):
            target = (page.parent / name) if name else page
            text = re.sub(r"^```.*?^```$", "", target.read_text(), flags=re.MULTILINE | re.DOTALL)
            titles = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
            anchors = {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}
            assert anchor in anchors, f"{page}: {name}#{anchor}"
