"""Peaks of mallocs with settings are those of runs of the benchmark."""

from pathlib import Path

import msgspec

from heapsmith.bench.studies import as_set


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
