"""Registry: a hash table of superslabs says whether a block is ours; the record of its slab has the class."""

from typing import Any

from heapsmith.model.compile.kernel import hit_path, kernel
from heapsmith.model.errors import Refusal
from heapsmith.model.memory.layout import SLAB_CLASS, SLAB_CLASS_NUMBER, SLAB_SHIFT, slab_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.policy.emitted import NOTHING, Hit, Question

NAME = "registry"
RARE = True
MOMENTS = ("superslab_ready", "reset")
HEADER_BYTES = 0
REGIONS = False
CLASS_MAP = False
CODE = Question(
    Hit(5, 0, 2),
    ("!registry_at_home(block)",),
    ("free_probed",),
    frozenset({"registry_at_home", "slab_of"}),
    goes_on=(
        (
            "free_probed",
            Question(
                NOTHING, ("!registry_probed(block)",), ("hs_free_large",), frozenset({"registry_probed", "slab_of"})
            ),
        ),
    ),
    by_record=True,
)
"""Loads: the span's start and end, the superslab's slot, the table of records, the class. Branches: is the block in the
span? does the first probe find its superslab?
"""
NUMBERS = ("registry_slots", "registry_factor", "registry_shift")
STATE = {"scalars": {"registered": 0}, "slabs": {"registry_slot": 0}}
"""registered: superslabs in the table. registry_slot: in the record of number k, where the table has superslab k."""
TABLE = SLAB_CLASS
"""The table's address: a design with a registry has no map of classes."""
ENTRY_BYTES = 4
FACTOR = 0x9E3779B1
"""2^32 divided by the golden ratio: superslabs that follow one another spread evenly (Knuth, volume 3, section 6.4)."""
WORD_BITS = 32
MOST_SUPERSLABS = 1 << 20
COSTS = {  # estimates: those of a page map, and what free() and classifier_class have more in the disassembly
    f"free.class.stack.{NAME}": 12.97,
    f"free.class.table.{NAME}": 12.89,
    f"free.class.restartable.{NAME}": 12.97,
    f"take.{NAME}": 0.00,
    f"call.realloc.{NAME}": 27.65,
}


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot have a registry: its superslabs are too many for the table."""
    superslabs = design.slab_span_bytes // design.superslab_bytes
    if superslabs <= MOST_SUPERSLABS:
        return None
    words = f"slab_span_bytes: {design.slab_span_bytes} holds {superslabs} superslabs; "
    words += f"classifier '{NAME}' expected at most {MOST_SUPERSLABS}"
    return Refusal(words, ("slab_span_bytes", "superslab_bytes", "classifier"))


def numbers(design: Any) -> dict[str, int]:
    """Return the table's slots, twice the superslabs of the span, and what gives a superslab's home slot."""
    slots = 2 * design.slab_span_bytes // design.superslab_bytes
    shift = WORD_BITS - (slots.bit_length() - 1)
    return {"registry_slots": slots, "registry_factor": FACTOR, "registry_shift": shift}


@hit_path
def home_of(state: State, superslab: int) -> int:
    """Return the slot where the probes for a superslab begin."""
    return int((superslab * state.registry_factor & 0xFFFFFFFF) >> state.registry_shift)


@hit_path
def probe_lines(state: State, superslab: int, slot: int, write: int) -> None:
    """Touch the slots from a superslab's home on that the probes read, up to `slot`, which may be written."""
    at = home_of(state, superslab)
    while at != slot:
        touch(state.listener, TABLE + ENTRY_BYTES * at, 0)
        at = (at + 1) % state.registry_slots
    touch(state.listener, TABLE + ENTRY_BYTES * slot, write)


@hit_path
def class_lines(state: State, block: int) -> None:
    """Touch the slots up to that of the block's superslab, then the class in the slab's record."""
    slab = block >> SLAB_SHIFT
    superslab = int(state.slabs[slab]["place"]) // state.slabs_per_superslab
    probe_lines(state, superslab, int(state.slabs[superslab]["registry_slot"]), 0)
    touch(state.listener, slab_at(state, slab) + SLAB_CLASS_NUMBER, 0)


@kernel
def is_empty(state: State, slot: int) -> bool:
    """Return whether no superslab has the slot."""
    holders = 0
    for superslab in range(state.registered):
        holders += int(state.slabs[superslab]["registry_slot"] == slot)
    return holders == 0


@kernel
def superslab_ready(state: State, place: int) -> None:
    """Enter a superslab into the table; one that is mapped again is there, and is written once more."""
    superslab = place // state.slabs_per_superslab
    if superslab == state.registered:
        slot = home_of(state, superslab)
        while not is_empty(state, slot):
            slot = (slot + 1) % state.registry_slots
        state.slabs[superslab]["registry_slot"] = slot
        state.registered += 1
    probe_lines(state, superslab, int(state.slabs[superslab]["registry_slot"]), 1)
