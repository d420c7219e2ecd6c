"""What recording costs: the page has the figures of the study's file, and the study says which aims they miss."""

from pathlib import Path
from statistics import median

import msgspec

from heapsmith.bench.studies.recording import DATA, Report, misses, table
from heapsmith.tools.common.tables import section

DOCS = Path(__file__).parents[1] / "docs"


def report() -> Report:
    return msgspec.json.decode(DATA.read_bytes(), type=Report)


def test_the_page_has_the_figures() -> None:
    rows = [line for line in section(table(report())) if line.startswith("|")]
    assert len(rows) == 2 + len(report().rows)
    assert "\n".join(rows) in (DOCS / "lab" / "recording.md").read_text()


def test_the_manual_has_the_medians() -> None:
    rows = report().rows
    words = " ".join((DOCS / "live.md").read_text().split())
    assert f"takes {median(row.recorded for row in rows):.2f} times its processor time" in words
    assert f"with stacks {median(row.with_stacks for row in rows):.2f} times" in words


def test_aims_that_are_missed_are_named() -> None:
    (first, *_) = report().rows
    slow = msgspec.structs.replace(first, program="lua", recorded=1.26)
    assert misses([slow, msgspec.structs.replace(first, program="jq", recorded=1.05)]) == [
        "lua: 1.26x",
        "the median program: 1.16x",
    ]
    assert misses([msgspec.structs.replace(slow, recorded=1.04)]) == []
