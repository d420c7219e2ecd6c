"""Fronts that are filled once and test nothing: by hand, step by step against the model, and where the blocks end."""

import subprocess
from typing import Any

import msgspec
import pytest
from lives import run
from preloaded import preloadable
from program import Program, plain_and_compiled

from heapsmith.codegen.built import library_of
from heapsmith.model.constants import BENCHFAST
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import prepared
from heapsmith.model.search.space import choices

FIELDS: dict[str, Any] = {"foreign": "trust", "dispatch": "class"}
SIZES = [16, 64, 256]


def few(blocks: int, **fields: Any) -> Design:
    """The built-in design with few classes and few blocks of each."""
    prewarm = {"kind": "fronts", "classes": [{"sizes": SIZES, "blocks": 1}]}
    front = {"kind": "prepared", "blocks": blocks}
    return changed(load("benchfast-whole"), "few", {"sizes": SIZES, "front": front, "prewarm": prewarm, **fields})


@plain_and_compiled
def test_all_blocks_come_at_once_and_no_more(compiled: bool) -> None:
    """The second thread has blocks of its own; what finds no room in its array goes to the store."""
    program = Program(compiled, [16, 64], prepared.Params(3), **FIELDS)
    assert program.malloc("a b c", 16) == [0, 16, 32]
    program.free("b")
    assert program.malloc("d", 16) == 16
    assert program.counts(0, "hit0", "refill", "refilled", "push", "carve") == (3, 1, 3, 1, 3)
    with pytest.raises(BadInput, match="no block is left for 16 bytes of those that the front took before"):
        program.malloc("e", 16)


@plain_and_compiled
def test_blocks_stay_with_a_heap_that_is_adopted(compiled: bool) -> None:
    program = Program(compiled, [16, 64], prepared.Params(3), **FIELDS)
    program.malloc("a", 16)
    program.exit(0)
    assert program.malloc("b c", 16, thread=1) == [16, 32]
    assert program.counts(0, "refill") == (1,)
    assert program.totals("heaps", "adoptions") == (1, 1)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="whole"),
        pytest.param({"classifier": "header", "prewarm": None}, id="header", marks=pytest.mark.thorough),
    ],
)
def test_library_and_model_agree_step_by_step(fields: dict[str, Any]) -> None:
    total = run(few(1200, **fields), examples=6)
    assert min(total[name] for name in ("hit0", "refill", "push", "adoptions")) > 0


FULL = """
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
enum { BLOCKS = 400 };
static void *block[BLOCKS];
static void *fill(void *unused)
{
    for (int i = 0; i < BLOCKS; i++)
        block[i] = malloc(64);
    return unused;
}
int main(void)
{
    pthread_t thread;
    for (int round = 0; round < 3; round++) { /* threads that live on have heaps of their own */
        pthread_create(&thread, NULL, fill, NULL);
        pthread_join(thread, NULL);
        for (int i = 0; i < BLOCKS; i++)
            free(block[i]);
    }
    puts("done");
    fflush(stdout);
    for (int i = 0; i < 10000; i++)
        *(volatile char *)malloc(16) = 1;
}
"""


@pytest.mark.thorough
def test_the_end_of_the_blocks_is_a_line(tmp_path: Any) -> None:
    """A thread frees more blocks than its array has room for; later one asks for more than were taken."""
    (tmp_path / "full.c").write_text(FULL)
    subprocess.run(["gcc", "-O1", "-pthread", "-o", "full", "full.c"], cwd=tmp_path, check=True)
    environment = BENCHFAST | {"LD_PRELOAD": preloadable(library_of(few(1000)))}
    done = subprocess.run(["./full"], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.stdout == "done\n"
    words = 'heapsmith: no block of 16 bytes is left of the 1000 that were prepared for the thread (front "prepared")\n'
    assert (done.returncode, done.stderr) == (-6, words)


def test_a_fault_of_the_program_is_the_programs(tmp_path: Any) -> None:
    (tmp_path / "fault.c").write_text("int main(void) { return *(volatile int *)8; }\n")
    subprocess.run(["gcc", "-o", "fault", "fault.c"], cwd=tmp_path, check=True)
    environment = BENCHFAST | {"LD_PRELOAD": preloadable(library_of(few(1000)))}
    done = subprocess.run(["./fault"], cwd=tmp_path, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-11, b"")


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"foreign": "next"}, "foreign: 'next' cannot go with front 'prepared', for measurement: expected 'trust'"),
    ({"dispatch": "row"}, "dispatch: front 'prepared' needs functions of each class"),
    ({"remote": "owner_list"}, "remote: 'owner_list' cannot go with front 'prepared'"),
    ({"rounding": {"kind": "larger"}}, "rounding: 'larger' cannot go with front 'prepared'"),
    ({"crash": "named"}, "crash: 'named' cannot go with front 'prepared'"),
    ({"front": {"kind": "prepared", "blocks": 0}}, "front.blocks: 0; expected 1 to 65536"),
    ({"class_front": [{"sizes": [16], "front": {"kind": "none"}}]}, "front: 'prepared' is for measurement"),
]


@pytest.mark.quick
@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_everything_else_refuses_it(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as refusal:
        few(100, **fields)
    assert words in str(refusal.value)


@pytest.mark.quick
def test_no_search_offers_it() -> None:
    assert not any(isinstance(one, prepared.Params) for one in choices("front"))


@pytest.mark.quick
def test_a_page_that_no_access_may_touch_lies_before_and_behind_each_array() -> None:
    for design in (few(1000), few(1000, counting="everything"), load("benchfast-whole")):
        plan = make_plan(design)
        ends = [plan.layout.slot // 8]
        for row in plan.classes:
            first = plan.layout.slot // 8 + row.slot_base
            assert first % 512 == row.front.capacity % 512 == 0
            assert first - 512 > ends[-1] - 512
            ends.append(first + row.front.capacity + 512)
        assert plan.layout.slot // 8 + plan.slots_per_heap >= ends[-1]
        assert msgspec.structs.replace(design, dispatch="class").why_not_valid() is None
