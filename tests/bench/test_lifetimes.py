"""Patterns of lifetimes: the program performs each of them, and memory is measured."""

import pytest

from heapsmith.bench.studies import lifetimes
from heapsmith.tools.peers.peers import find_library, preload

SMALL = (
    "drift 100 64 2000 3",
    "spikes 4096 2 2 3000",
    "pinned 1000 8",
    "fifo 200 16 1024 3000",
    "lru 3000000 1024 65536 600 1",
    "strings 100 300",
    "temporaries 50000 400000 5",
    "aligned 20 64 1048576 100",
    "pools 20",
    "churn 1000",
    "crowd 10 40 16 1024 2",
)


@pytest.mark.parametrize("row", SMALL, ids=[row.split()[0] for row in SMALL])
def test_each_kind_has_memory(row: str) -> None:
    assert row.split()[0] in {one.split()[0] for one in lifetimes.ROWS}
    plain = lifetimes.once(row, "")
    default = find_library("default")
    ours = lifetimes.once(row, preload(default, {}))
    assert 500 < plain.average_kib <= plain.peak_kib
    assert 500 < ours.average_kib <= ours.peak_kib
    assert ours.peak_kib < 3 * plain.peak_kib + 4096


def test_the_kinds_of_the_rows_are_all_tried() -> None:
    assert {row.split()[0] for row in lifetimes.ROWS} == {row.split()[0] for row in SMALL}
