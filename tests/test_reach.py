"""What `verify` says of its reach: the functions of the library that a trace reached, as the library counts."""

from pathlib import Path

import pytest
from test_annotated import library_counters, sum_of
from test_cli import Call
from traces import random_trace, trace_of

from heapsmith.codegen.reach import Reach
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.heap.simulator import Counters
from heapsmith.model.parts.counters import COUNTS, TOTALS

SOURCE = b"""
static void one(int a);

__attribute__((noinline)) static void *one(int a,
                                           int b) {
    count_own(&heap->count[CLASS_16].refill, 1);
    count_shared(&hs_count.releases, 1);
}

void two(void) {
    count_own(&heap->count[class].refill, 1);
    count_shared(&hs_count.committed, 1);
}
"""


@pytest.mark.quick
def test_functions_have_the_counts_of_their_lines() -> None:
    plan = make_plan(load("lean"))
    classes = {name: [0] * plan.class_count for name in COUNTS}
    classes["refill"] = [3 if row.name == "16" else 1 for row in plan.classes]
    reach = Reach(plan)
    reach.add(Counters(classes, dict.fromkeys(TOTALS, 0)))
    one, two = reach.functions({"a/b.c": SOURCE, "c.txt": SOURCE})
    assert (one.function, one.file, one.counts) == ("one", "b.c", {"refill": 3, "releases": 0})
    assert (two.function, two.counts) == ("two", {"refill": sum(classes["refill"])})
    reach.add(Counters(dict.fromkeys(COUNTS, [0] * plan.class_count), dict.fromkeys(TOTALS, 0)))
    assert [row.counts for row in reach.functions({"b.c": SOURCE})] == [one.counts, two.counts]


@pytest.mark.quick
def test_a_counter_of_several_functions_does_not_say_which_ran() -> None:
    plan = make_plan(load("lean"))
    reach = Reach(plan)
    totals = dict.fromkeys(TOTALS, 0) | {"releases": 1}
    reach.add(Counters(dict.fromkeys(COUNTS, [1] * plan.class_count), totals))
    assert [(row.own, row.ran) for row in reach.functions({"b.c": SOURCE})] == [(["releases"], True), ([], None)]
    apart = SOURCE.replace(b"[class]", b"[CLASS_32]")
    assert [row.own for row in reach.functions({"b.c": apart})] == [["refill", "releases"], ["refill"]]
    assert [row.ran for row in Reach(plan).functions({"b.c": SOURCE})] == [False, False]


@pytest.mark.thorough
def test_the_counts_are_those_of_the_library(tmp_path: Path) -> None:
    work, design = random_trace(tmp_path / "t.hst", 8000, 3, max_size=100_000), load("lean")
    counters = library_counters(design, work)
    report = verify(design, [work, work], audit=False)
    assert report.ok
    assert len(report.reach) > 15
    compared = 0
    for row in report.reach:
        for name, count in row.counts.items():
            one = f"{name} of class {row.function.rpartition('_')[2]}"  # alloc_16
            of_class = counters.get(one, sum_of(name, counters))
            expected = (
                counters[name] if name in TOTALS else of_class if row.file == "fast.c" else sum_of(name, counters)
            )
            assert count == 2 * expected, row
            compared += count > 0
    assert compared > 8


@pytest.mark.thorough
def test_the_command_says_what_a_trace_does_not_reach(call: Call, tmp_path: Path) -> None:
    small = trace_of(tmp_path / "small.hst", [40] * 100)
    answer = call("verify", "lean", small)
    assert answer.status == 0
    assert "functions that count something; of the" in " ".join(answer.out.split())
    lines = [line.split() for line in answer.out.splitlines()]
    assert any(words[1:] == ["huge.c", "-"] for words in lines)
    assert any(words[1:3] == ["runs.c", "-"] for words in lines)
    assert any("refill" in words and words[words.index("refill") + 1].strip(",") != "0" for words in lines)
