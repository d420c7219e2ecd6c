"""The page of results: rows that reach the goals are counted, and the others listed."""

import msgspec
import pytest
from test_bench import ACROSS, FIGURES, report_of

from heapsmith.bench.studies import results
from heapsmith.model.errors import BadInput


def test_the_page_of_results_counts_rows_and_lists_those_that_miss() -> None:
    slow = FIGURES | {"default": (800, 300, 130)}
    every = report_of(FIGURES, slow, FIGURES)
    whole = results.joined([msgspec.structs.replace(every, rows=[row]) for row in every.rows])
    assert [column.rows for column in whole.columns] == [3] * (len(ACROSS) - 1)
    text = " ".join(results.made(whole)[0].split())
    assert "Geometric means over the 3 rows that ran under every malloc" in text
    assert "`default` takes at most 1.02 of the best peer's CPU time in 2 of 3 rows" in text
    assert "It takes at most 1.00 of the leanest peer's peak in 2 of 3 rows (67%; the goal is three in four)" in text
    assert "its whole interval above 1: `row1` 2.00 (quick)." in text
    assert "Its peak is above 1.00: `row1` 1.08." in text
    assert "bump" not in text
    other = msgspec.structs.replace(whole, columns=whole.columns[1:])
    with pytest.raises(BadInput, match="expected the same libraries in each"):
        results.joined([whole, other])
