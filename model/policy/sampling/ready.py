"""Ready: malloc counts nothing until samples are asked for; then rows of the heaps lead it to its slow path."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import WORD, heap_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch, touch_bytes
from heapsmith.model.policy import front
from heapsmith.model.policy.emitted import BEHIND_COUNTS, NOTHING, Field, Function
from heapsmith.model.policy.sampling import common

NAME = "ready"
RARE = True
UNPRICED = True
MOMENTS = ("reset", "heap_made", "heap_started", "heap_adopted", "heap_drains")
ENTRY = Function("", hit=NOTHING)
LARGE = "hs_malloc_large_watched"
WATCHES = True
NUMBERS = common.NUMBERS
STATE = common.STATE
LINK = common.LINK
COSTS = {"sampling.watched": 37.0, **common.costs(NAME)}
"""Of a request while samples are taken: by callgrind, a loop of malloc and free (tests/test_sampling_ready.py)."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A library that can begin to take samples, and stop, while the program runs.

    Until then malloc and free are those of a design without samples. While samples are taken, each
    malloc takes its slow path, and so does the free of a large class. on: from the start; mean_bytes,
    seed, guards: as of countdown.
    """

    on: bool = False
    mean_bytes: int = 524_288
    seed: int = 1
    guards: int = 0


why_not_valid = common.why_not_valid


def why_not_with(design: Any) -> Refusal | None:
    """Return why the rows of a design's heaps cannot lead malloc to its slow path, or None."""
    needed = {"heaps": "thread", "hardening": "off", "rounding": "off", "learner": "off", "segregation": "off"}
    for field, name in needed.items():
        if (chosen := design.row(field).NAME) != name:
            return _refusal(f"{field} '{chosen}'", f"{field} '{name}'", field)
    if design.row("remote").OWNED:
        return _refusal(f"remote '{design.row('remote').NAME}'", "a store of all heaps", "remote")
    if design.row("classifier").HEADER_BYTES:
        return _refusal(f"classifier '{design.classifier}'", "a classifier without headers", "classifier")
    if design.dispatch == "class":
        return _refusal("dispatch 'class'", "dispatch 'row'", "dispatch")
    rows = [front.row_of(design.front_of(size)) for size in design.sizes]
    if any(not row.IS_STACK or row.LEVELS > 1 for row in rows):
        return _refusal("a front that is no array stack", "array stacks of one level", "front")
    return common.why_not_with(design)


def _refusal(what: str, expected: str, field: str) -> Refusal:
    return Refusal(f"sampling: '{NAME}' cannot go with {what}; expected {expected}", ("sampling", field))


def numbers(design: Any) -> dict[str, int]:
    """Return what the draws go by, and whether samples are taken from the start."""
    return common.numbers(design, is_on=design.sampling.on)


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return common.files(design, "parked") | {"record": "record", "family": "recorded"}


def heap_fields(design: Any) -> list[Field]:
    """Return what a heap whose requests are watched keeps of its stacks."""
    classes = len(design.classes())
    about = "by class, the top of a stack that looks empty and full; NULL: of none"
    return [
        Field("void **parked[CLASS_COUNT]", classes, about, BEHIND_COUNTS),
        Field("uint64_t watched", 1, "samples are taken, as far as the heap's thread knows", BEHIND_COUNTS),
    ]


@hit_path
def parked_lines(state: State, heap: int, cls: int) -> None:
    """Touch what tells whether a stack is parked."""
    if heap >= 0:
        touch(state.listener, heap_at(state, heap) + state.sampling_at + WORD * cls, 0)


@hit_path
def watched_lines(state: State, heap: int) -> None:
    """Touch what the heap's thread knows of whether samples are taken."""
    if heap >= 0:
        touch(state.listener, heap_at(state, heap) + state.sampling_at + WORD * state.class_count, 0)


@kernel
def heap_started(state: State, heap: int) -> None:
    """Touch what the thread looks at before its first request."""
    watched_lines(state, heap)


@kernel
def heap_adopted(state: State, heap: int) -> None:
    """Touch what a heap's next thread looks at."""
    watched_lines(state, heap)


@kernel
def slow_path(state: State, heap: int) -> None:
    """Touch what a miss looks at of the heap."""
    watched_lines(state, heap)


@kernel
def front_missed(state: State, heap: int, cls: int) -> None:
    """Touch what a miss looks at of the class."""
    parked_lines(state, heap, cls)


@kernel
def thread_exits(state: State, heap: int) -> None:
    """Touch what a heap knows that is about to be drained."""
    touch_bytes(state.listener, heap_at(state, heap) + state.sampling_at, WORD * state.class_count, 0)
    touch(state.listener, heap_at(state, heap) + state.sampling_at + WORD * state.class_count, 1)


def work(plan: Any, simulation: Any, missed: int, unkept: int) -> Any:
    """Yield the requests that are watched, and the samples."""
    yield "sampling.watched", common.requests(simulation) * plan.numbers["sample_on"]
    yield from common.work_of_samples(plan, simulation, NAME)


locks, follow, event_begins = common.locks, common.follow, common.event_begins
sampled_block, frees_guarded = common.sampled_block, common.frees_guarded
block_made, block_goes, must_move, stayed = common.block_made, common.block_goes, common.must_move, common.stayed
