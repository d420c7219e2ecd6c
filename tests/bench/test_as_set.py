"""The table of mallocs with settings in docs/lab/bench.md is that of its data, which are those of runs."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.studies import as_set
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.peers.peers import AS_SET, PEERS


def test_the_page_has_the_table_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert as_set.main(check=True) == 0
    assert set(as_set.COLUMNS) <= AS_SET.keys() | PEERS.keys()
    page = tmp_path / "bench.md"
    page.write_text(as_set.PAGE.read_text().replace("| geometric mean |", "| mean |"))
    monkeypatch.setattr(as_set, "PAGE", page)
    with pytest.raises(CheckFailed, match=r"bench\.md: its table is not that of as_set\.json"):
        as_set.main(check=True)
    assert as_set.main() == 0
    assert as_set.main(check=True) == 0


def test_peaks_are_taken_of_rows_with_all_columns(tmp_path: Path) -> None:
    peaks = {"glibc": 1.0, "glibc-two-arenas": 0.5, "jemalloc": 1.5, "jemalloc-deployed": 0.25}
    cells = [
        {"column": name, "peak_rss_bytes": {"median": 200.0 * ratio}, "rss_to_glibc": {"median": ratio}}
        for name, ratio in peaks.items()
    ]
    rows = [
        {"name": "a", "threads": 2, "rounds": 3, "cells": cells},
        {"name": "b", "threads": 1, "rounds": 3, "cells": []},
    ]
    (tmp_path / "run.json").write_bytes(msgspec.json.encode({"rows": rows}))
    (found,) = as_set.taken([tmp_path / "run.json"])
    ratios = {name: ratio for name, ratio in peaks.items() if name != "glibc"}
    assert found == as_set.Peaks("a", 2, 200, 3, ratios)
