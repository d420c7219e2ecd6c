"""Background refill against docs/machine-rooms.md, 'background', by hand; and the helper thread of real programs."""

import json
from pathlib import Path

import pytest
from loaded import checked_library, unchecked_library
from preloaded import program, shim, start
from program import Program, plain_and_compiled

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.files import scratch
from heapsmith.model.policy.background import refill as background_refill
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.remote import owner_list as remote_owner_list

pytestmark = pytest.mark.quick

STACK = front_array_stack.Params(capacity=4, refill=2, flush=2)
FOUR_BATCHES = 4 * 2 * 16


@plain_and_compiled
def test_a_step_tops_up_a_class_that_is_wanted(compiled: bool) -> None:
    program = Program(
        compiled, [16, 32], STACK, transfer_bytes=FOUR_BATCHES, background=background_refill.Params(every=4)
    )
    assert program.malloc("a b c", 16) == [0, 16, 32]
    assert program.totals("background_steps", "background_blocks") == (0, 0)
    assert program.malloc("d", 16) == 48  # the fourth event: four batches of two, of this class alone
    assert program.totals("background_steps", "background_blocks") == (1, 8)
    assert program.counts(0, "refill", "refilled", "carve", "transfer_in") == (2, 4, 12, 8)
    assert program.counts(1, "carve", "acquire") == (0, 0)
    assert program.malloc("e f g h", 16) == [160, 176, 128, 144]  # two batches left are half of four
    assert program.totals("background_steps") == (1,)
    assert program.malloc("i j k l", 16) == [96, 112, 64, 80]  # one left, then none: four more
    assert program.totals("background_steps", "background_blocks") == (2, 16)
    assert program.counts(0, "refill", "refilled", "transfer_in", "transfer_out") == (6, 12, 16, 8)
    assert program.malloc("m", 16) == 288


@plain_and_compiled
def test_a_step_tops_up_to_the_stated_part(compiled: bool) -> None:
    half = background_refill.Params(threshold_percent=30, fill_percent=60, every=2)
    program = Program(compiled, [16], STACK, transfer_bytes=FOUR_BATCHES, background=half)
    program.malloc("a b", 16)  # 30 % of four batches are two, rounded up; 60 % are two, rounded down
    assert program.totals("background_blocks") == (4,)


@plain_and_compiled
def test_no_batch_is_made_that_no_other_heap_could_take(compiled: bool) -> None:
    fields = {"transfer_bytes": FOUR_BATCHES, "transfer_from_heaps": 2}
    program = Program(compiled, [16], STACK, background=background_refill.Params(every=2), **fields)
    assert program.malloc("a b c", 16) == [0, 16, 32]
    assert program.totals("background_steps", "background_blocks") == (1, 0)
    program.malloc("d", 16, thread=1)
    assert program.totals("background_steps", "background_blocks") == (2, 8)


@plain_and_compiled
def test_a_class_of_which_threads_only_free_is_not_topped_up(compiled: bool) -> None:
    late = background_refill.Params(every=75)
    program = Program(compiled, [16], STACK, transfer_bytes=FOUR_BATCHES, background=late)
    names = [f"b{number}" for number in range(37)]
    program.malloc(" ".join(names), 16)  # the last refill makes the class wanted
    program.free(" ".join(names))  # 17 flushes: the last empties the cache
    assert program.counts(0, "flush", "transfer_in", "transfer_back") == (17, 8, 8)
    program.malloc("x", 16)  # a hit, and the event of the step
    assert program.totals("background_steps", "background_blocks") == (1, 0)


@plain_and_compiled
@pytest.mark.slow
def test_a_batch_that_the_span_has_no_room_for_goes_back(compiled: bool) -> None:
    size, blocks = 1 << 19, 512
    program = Program(
        compiled,
        [size],
        front_array_stack.Params(capacity=4, refill=1, flush=3, max_bytes=1 << 22),
        slab_bytes=1 << 21,
        superslab_bytes=1 << 21,
        slab_span_bytes=1 << 28,
        huge_bytes=1 << 20,
        transfer_bytes=3 * size,
        background=background_refill.Params(every=blocks - 2),
    )
    for number in range(blocks - 2):
        program.malloc(f"b{number}", size)
    assert program.counts(0, "transfer_in", "carve", "reuse") == (0, blocks, 0)
    assert program.totals("background_steps", "background_blocks") == (1, 2)
    assert program.malloc("x y", size) == [(blocks - 2) * size, (blocks - 1) * size]
    assert program.counts(0, "reuse") == (2,)


def test_numbers_of_the_classes() -> None:
    rows = make_plan(load("background")).classes
    assert [(row.fields["transfer"], *row.numbers.values()) for row in rows if row.size in (16, 512, 4096)] == [
        (8, 4, 8),
        (8, 4, 8),
        (8, 4, 8),
    ]


@pytest.mark.parametrize(
    ("params", "other", "why"),
    [
        ({"threshold_percent": 0}, {}, "background.threshold_percent: 0; expected 1 to 100"),
        ({"fill_percent": 49}, {}, "background.fill_percent: 49; expected threshold_percent, 50, to 100"),
        ({"every": 0}, {}, "background.every: 0; expected 1 to 1048576 events"),
        ({}, {"transfer_bytes": 0}, "background: no class has a transfer cache"),
        ({}, {"remote": remote_owner_list.NAME}, "background: no class has a transfer cache"),
    ],
)
def test_what_no_design_can_have(params: dict[str, int], other: dict[str, object], why: str) -> None:
    fields = {"transfer_bytes": FOUR_BATCHES, **other}
    design = Design("case", [16], front=STACK, background=background_refill.Params(**params), **fields)  # type: ignore[arg-type]
    assert str(design.why_not_valid()).startswith(why)


PROCESSES = {
    "works": (1, 0),
    "forks": (2, 0),
    "leaves-main": (1, 0),
    "without": (1, 1),
    "checks": (1, 0),
    "performs": (0, 1),
}
"""How many processes of tests/programs/run_helper.c have had a helper's steps, and how many not, by its argument."""


def wrong_help(library: Path, how: str) -> str | None:
    """What a program found wrong with the helper thread of a library, or its reports; None if nothing is."""
    preloads = [shim("shim_no_threads"), library] if how == "without" else [library]
    with scratch() as folder:
        done = start(
            [program("run_helper", "-rdynamic"), how], *preloads, environment={"HEAPSMITH": f"stats={folder}/%p"}
        )
        reports = [json.loads(path.read_text())["counters"] for path in folder.iterdir()]
    steps = [report["background_steps"] for report in reports]
    helped = sum(count > 0 for count in steps), steps.count(0)
    if (done.returncode, done.stderr, helped) != (0, "", PROCESSES[how]):
        return f"{how}: status {done.returncode}, {done.stderr!r}, {helped}"
    blocks = [report["background_blocks"] for report in reports]
    return (
        None
        if all((count > 0) == (some > 0) for count, some in zip(steps, blocks, strict=True))
        else f"{how}: {blocks}"
    )


@pytest.mark.parametrize(
    "checked", [pytest.param(False, id="release"), pytest.param(True, id="checked", marks=pytest.mark.thorough)]
)
@pytest.mark.parametrize("how", PROCESSES)
@pytest.mark.slow
def test_helper_of_a_program(how: str, checked: bool) -> None:
    """It works in the parent and in a fork's child, a process whose main thread has ended ends, and some have none."""
    design = load("background")
    assert wrong_help(checked_library(design) if checked else unchecked_library(design), how) is None


@pytest.mark.slow
def test_library_has_no_helper_without_the_choice() -> None:
    assert b"heapsmith_background" in unchecked_library(load("background")).read_bytes()
    assert b"heapsmith_background" not in unchecked_library(load("default")).read_bytes()
