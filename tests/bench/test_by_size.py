"""Peaks by size, and the figures of the README: both are those of docs/lab/results.md."""

import re
from pathlib import Path

import pytest

from heapsmith.bench.studies import by_size
from heapsmith.model.errors import CheckFailed

README = (Path(__file__).parents[2] / "README.md").read_text()
PAGE = by_size.PART.page.read_text()
PEERS = ("default", "tuned", "jemalloc", "tcmalloc", "mimalloc2", "rpmalloc")


def cells(line: str) -> list[str]:
    return [cell.strip().replace("0.", ".") for cell in line.strip("|").split("|")]


def of(text: str, begins: str) -> list[str]:
    """The cells of the one row of a text that begins so."""
    (line,) = [line for line in text.splitlines() if line.startswith(f"| {begins}")]
    return cells(line)[1:]


def test_a_row_that_changes_is_noticed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "results.md"
    before, heading, table = PAGE.partition("\n## Peak RSS, to glibc")
    page.write_text(before + heading + re.sub(r" MiB \| \d+\.\d+ ", " MiB | 9.99 ", table, count=1))
    monkeypatch.setattr(by_size, "PART", by_size.PART._replace(page=page))
    with pytest.raises(CheckFailed, match=r"results\.md: its table is not that of by_size"):
        by_size.main(check=True)
    assert by_size.main(check=False) == 0
    assert by_size.main(check=True) == 0


def test_the_figures_of_the_readme_are_those_of_the_page() -> None:
    names = cells(next(line for line in PAGE.splitlines() if line.startswith("| suites | ")))
    for text, size in (("of 16 MiB and more", "16 MiB and more"), ("below 4 MiB", "0 to 4 MiB")):
        means = dict(zip(names[1:], of(PAGE, f"programs, replay | {size}"), strict=True))
        assert of(README, f"programs and replays {text}") == [means[name] for name in PEERS]
    names = cells(next(line for line in PAGE.splitlines() if line.startswith("| suite | rows | ")))
    count, *ratios = of(PAGE, "`programs` | ")
    of_name = dict(zip(names[2:], (cell.replace(" 0.", " .").split(" / ") for cell in ratios), strict=True))
    assert of(README, f"{count} real programs: CPU time") == [of_name[name][0] for name in PEERS]
    assert of(README, "the same: peak memory") == [of_name[name][1] for name in PEERS]
    head = cells(next(line for line in PAGE.splitlines() if line.startswith("|  | glibc | jemalloc")))
    part = PAGE.partition("## Means")[2].partition("\n## ")[0]
    loops = dict(zip(head[1:], of(part, "CPU time"), strict=True))
    (rows,) = re.findall(r"Geometric means over the (\d+) rows", part)
    assert of(README, f"{rows} benchmarks of malloc: CPU time") == [loops.get(name, "-") for name in PEERS]
