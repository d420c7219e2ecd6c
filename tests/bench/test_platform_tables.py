"""The tables of docs/lab/platforms.md are those of the committed measurements; what the manual says of them holds."""

import re
from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.gates import compilers, hot_paths
from heapsmith.bench.studies import musl, small
from heapsmith.tools.common.tables import Words, section

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "lab" / "platforms.md").read_text()


@pytest.fixture(scope="module")
def measured() -> musl.Report:
    return msgspec.json.decode(musl.FILE.read_bytes(), type=musl.Report)


def lines_of(table: Words) -> str:
    """The table without its title."""
    return "\n".join([*section(table)][3:])


def test_the_table_of_musl_is_the_measured_one(measured: musl.Report) -> None:
    assert lines_of(musl.table(measured)) in PAGE
    assert f"{measured.rounds} shuffled rounds" in PAGE
    assert f"{measured.date}, commit {measured.commit}" in PAGE


def test_the_table_of_small_processes_is_the_measured_one() -> None:
    found = msgspec.json.decode(small.FILE.read_bytes(), type=small.Report)
    assert lines_of(small.table(found)) in PAGE
    assert f"Medians of {found.rounds} runs ({found.date}, commit {found.commit})" in " ".join(PAGE.split())


def test_pages_of_a_process_by_kind() -> None:
    """The library's variables without a value lie behind those that have one; what lies behind its end is not."""
    maps = [
        ("1000-3000 r-xp", "/lib.so", 8, 0),
        ("3000-4000 rw-p", "/lib.so", 4, 4),
        ("4000-9000 rw-p", "", 12, 12),
        ("9000-a000 r-xp", "/lib.so", 0, 0),
        ("a000-c000 rw-p", "", 8, 8),
        ("d000-e000 rw-p", "/libc.so", 4, 4),
        ("d000-e000 r--p", "/libc.so", 40, 0),
        ("f000-ff000 rw-p", "[stack]", 16, 16),
    ]
    text = "".join(
        f"{where} 00000000 00:00 1 {name}\nSize: 1 kB\nRss: {rss} kB\nAnonymous: {private} kB\n"
        for where, name, rss, private in maps
    )
    wanted = {small.PRIVATE: 28, small.VARIABLES: 16, small.CODE: 8, small.OTHERS: 40}
    assert small.resident(text, "/lib.so") == wanted


def test_the_table_of_compilers_is_the_kept_one() -> None:
    kept = compilers.kept()
    assert len(kept) > 10
    assert lines_of(compilers.table(kept)) in PAGE


def test_the_manual_names_the_compilers_that_were_tried() -> None:
    found = re.search(
        r"gcc (\d+) to (\d+) and clang (\d+) to (\d+) and (\d+) to (\d+) compile", (DOCS / "api.md").read_text()
    )
    assert found is not None
    ends = [int(number) for number in found.groups()]
    spans = [("gcc", *ends[:2]), ("clang", *ends[2:4]), ("clang", *ends[4:])]
    named = {f"{name}-{version}" for name, first, last in spans for version in range(first, last + 1)}
    assert named == {one.compiler for one in compilers.kept()}


def test_no_compiler_complains_or_takes_many_more_instructions() -> None:
    limits = hot_paths.allowed()[1]
    for one in compilers.kept():
        assert one.faults == []
        assert {"default", "lean", "owner"} <= one.instructions.keys() <= set(hot_paths.DESIGNS)
        for design, found in one.instructions.items():
            assert found <= limits[design][compilers.COUNTED] + compilers.MORE


def test_what_the_manual_says_of_musl(measured: musl.Report) -> None:
    """Speed with threads; peaks."""
    page = " ".join((DOCS / "api.md").read_text().split())
    least = re.search(r"at least (\d+) times the speed", page)
    more = re.search(r"higher by up to (\d+) KiB", page)
    lean = re.search(r"peaks of at most ([\d.]+) there", page)
    assert least is not None
    assert more is not None
    assert lean is not None
    for row in measured.rows:
        other, own, leaner = row.cells
        assert [cell.malloc for cell in row.cells] == ["musl", *musl.DESIGNS]
        if row.threads > 1:
            assert own.speed >= int(least[1]), row.name
        if other.peak_bytes.median >= 4 << 20:
            assert own.peak.median < 1, row.name
        assert own.peak_bytes.median - other.peak_bytes.median < int(more[1]) << 10, row.name
        assert round(leaner.peak.median, 2) <= float(lean[1]), row.name


def test_outcomes_of_other_compilers_stay(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    first = [compilers.Outcome(compiler=name, version="1", system="here") for name in ("own-cc", "gcc-12", "clang-14")]
    compilers.keep(first, file)
    again = compilers.Outcome(compiler="gcc-12", version="2", system="here")
    compilers.keep([again, msgspec.structs.replace(again, system="there")], file)
    assert [(one.compiler, one.version, one.system) for one in compilers.kept(file)] == [
        ("gcc-12", "2", "here"),
        ("gcc-12", "2", "there"),
        ("clang-14", "1", "here"),
        ("own-cc", "1", "here"),
    ]
