"""Owner's batches: a thread collects the blocks of another heap, and hands over a batch at a time."""

from typing import Any

import msgspec

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.layout import (
    CLASS_MASK,
    CLASS_REFILL,
    COUNT_DRAINED,
    COUNT_REMOTE,
    WORD,
    block_at,
    class_at,
    count_at,
)
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import touch
from heapsmith.model.parts.front_questions import choice_gives
from heapsmith.model.policy.emitted import Field
from heapsmith.model.policy.remote.common import OWNER_CODE, fields_of, owns, part_at, slots_in

NAME = "owner_batch"
RARE = True
RAISES = ("owned",)
IS_WORD = True
MOMENTS = ("heap_drains",)
OWNED = True
CODE = OWNER_CODE._replace(emits=(("hs_heap_to_free", "hs_heap_of"),))
NUMBERS = ("outbox_places", "remote_words", "drains_by_class")
CLASS_NUMBERS = ("parcel", "batch")
COSTS = {
    f"free.look.{NAME}": 10.75,
    f"free.remote.{NAME}": 22.29,
    f"refill.look.{NAME}": 71.21,
}

PLACES = 4
PARCEL_BYTES = 64
MOST_BLOCKS = 64
LEAST_BYTES, MOST_BYTES = 16, 1 << 20

INBOX, WAITING, TURN, FIRST_PLACE = range(4)
OWNER, NEWEST, OLDEST, HELD = range(4)
PLACE_SLOTS = 4
SLOTS = FIRST_PLACE + PLACES * PLACE_SLOTS
"""Of a heap and class in `slots`: first nodes and an owner are one more than their number, 0 is none."""

PLACE_WORDS = 6
OUTBOX_WORDS = 1 + PLACES * PLACE_WORDS
CLASS_WORDS = 2 + OUTBOX_WORDS
"""Of struct boxes (runtime/heap/5_slab_policies/remote/owner_batch.c)."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A thread keeps blocks of other heaps back, up to four batches of a class.

    batch_bytes: blocks of one owner and class that wait to be handed over together, at most 64. Larger
    batches cost fewer atomic operations, and hold more memory back in threads that free seldom.
    """

    batch_bytes: int = 8192


def why_not_valid(params: Params) -> str | None:
    """Return why there are no such batches, or None."""
    if LEAST_BYTES <= params.batch_bytes <= MOST_BYTES:
        return None
    return f"batch_bytes: {params.batch_bytes}; expected {LEAST_BYTES} to {MOST_BYTES}"


def numbers(design: Any) -> dict[str, int]:
    """Return the places of an outbox, and the words of all boxes."""
    return {"outbox_places": PLACES, "remote_words": CLASS_WORDS * len(design.classes()), "drains_by_class": 1}


def class_numbers(design: Any) -> list[dict[str, int]]:
    """Return by class the most blocks of a parcel and of a batch."""
    params = Params() if isinstance(design.remote, str) else design.remote
    taken = design.row("classifier").HEADER_BYTES + design.row("hardening").TAIL_BYTES
    return [_numbers(size, size - taken, params.batch_bytes) for size in design.sizes]


def _numbers(size: int, usable: int, batch_bytes: int) -> dict[str, int]:
    """Return the numbers of a class: a batch is whole parcels, and a parcel a line."""
    most = max(1, min(batch_bytes // size, MOST_BLOCKS))
    parcel = max(1, min(usable // WORD, PARCEL_BYTES // WORD, most))
    return {"parcel": parcel, "batch": most - most % parcel}


stays = owns


@kernel
def needs_heap(state: State) -> bool:
    """Return True: the blocks of others wait in a heap."""
    return True


@kernel
def boxes_in(state: State, heap: int, cls: int) -> int:
    """Return where `slots` has the boxes of a heap and class."""
    return slots_in(state, heap, cls, SLOTS)


@kernel
def place_at(state: State, heap: int, cls: int, number: int) -> int:
    """Return the model address of a place of an outbox."""
    words = 2 * state.class_count + OUTBOX_WORDS * cls + 1 + PLACE_WORDS * number
    return part_at(state, heap) + WORD * words


@kernel
def join_lines(state: State, heap: int, owner: int, block: int) -> None:
    """Touch the counter of the thread's own heap; `joins` touches the rest."""
    touch(state.listener, count_at(state, heap, block & CLASS_MASK) + COUNT_REMOTE, 1)


@kernel
def joins(state: State, heap: int, owner: int, node: int) -> None:
    """Collect the node's block in the place of its owner; hand a whole batch over."""
    block = int(state.nodes[node]["block"])
    cls = block & CLASS_MASK
    number = place_for(state, heap, cls, owner)
    place = boxes_in(state, heap, cls) + FIRST_PLACE + PLACE_SLOTS * number
    newest = int(state.slots[place + NEWEST]) - 1
    touch(state.listener, place_at(state, heap, cls, number) + WORD, 1)
    touch(state.listener, place_at(state, heap, cls, number) + 2 * WORD, 0)
    state.nodes[node]["parcel"] = block
    state.nodes[node]["name"] = 0
    if newest < 0:
        state.slots[place + OWNER] = owner + 1
        state.slots[place + OLDEST] = node + 1
    elif int(state.nodes[newest]["name"]) + 1 < state.classes[cls]["parcel"]:
        state.nodes[node]["parcel"] = state.nodes[newest]["parcel"]
        state.nodes[node]["name"] = state.nodes[newest]["name"] + 1
    state.nodes[node]["next"] = newest
    name_lines(state, node, 1)
    parcel_lines(state, heap, cls, number, node)
    state.slots[place + NEWEST] = node + 1
    state.slots[place + HELD] += 1
    if state.slots[place + HELD] >= state.classes[cls]["batch"]:
        hand_over(state, heap, cls, number)


@kernel
def parcel_lines(state: State, heap: int, cls: int, number: int, node: int) -> None:
    """Touch what a place says of its parcels, where the node's block begins one or fills one."""
    place, name = place_at(state, heap, cls, number), int(state.nodes[node]["name"])
    if name == 0:
        touch(state.listener, place + 3 * WORD, 1)
        if state.nodes[node]["next"] < 0:
            touch(state.listener, place, 1)
            touch(state.listener, place + 4 * WORD, 1)
    if name + 1 == state.classes[cls]["parcel"]:
        touch(state.listener, place + 5 * WORD, 1)


@kernel
def name_lines(state: State, node: int, write: int) -> None:
    """Touch the word of a parcel that names the node's block, or its link."""
    parcel, name = int(state.nodes[node]["parcel"]), int(state.nodes[node]["name"])
    touch(state.listener, block_at(state, parcel) + WORD * name, write)


@kernel
def place_for(state: State, heap: int, cls: int, owner: int) -> int:
    """Return the number of the owner's place: its own, else one without blocks, else the next in turn."""
    boxes = boxes_in(state, heap, cls)
    free = -1
    for number in range(PLACES):
        held = int(state.slots[boxes + FIRST_PLACE + PLACE_SLOTS * number + OWNER]) - 1
        touch(state.listener, place_at(state, heap, cls, number), 0)
        if held == owner:
            return number
        if held < 0 and free < 0:
            free = number
    if free < 0:
        free = int(state.slots[boxes + TURN]) % PLACES
        state.slots[boxes + TURN] += 1
        touch(state.listener, place_at(state, heap, cls, 0) - WORD, 1)
        hand_over(state, heap, cls, free)
    return free


@kernel
def hand_over(state: State, heap: int, cls: int, number: int) -> None:
    """Put the batch of a place at the head of its owner's inbox."""
    place = boxes_in(state, heap, cls) + FIRST_PLACE + PLACE_SLOTS * number
    owner = int(state.slots[place + OWNER]) - 1
    newest, oldest = int(state.slots[place + NEWEST]) - 1, int(state.slots[place + OLDEST]) - 1
    inbox = boxes_in(state, owner, cls) + INBOX
    end_lines(state, cls, newest, 1)
    touch(state.listener, block_at(state, int(state.nodes[oldest]["block"])), 1)
    touch(state.listener, part_at(state, owner) + WORD * cls, 1)
    touch(state.listener, place_at(state, heap, cls, number), 1)
    touch(state.listener, place_at(state, heap, cls, number) + (PLACE_WORDS - 1) * WORD, 1)
    state.nodes[oldest]["next"] = int(state.slots[inbox]) - 1
    state.slots[inbox] = newest + 1
    for word in range(PLACE_SLOTS):
        state.slots[place + word] = 0


@kernel
def end_lines(state: State, cls: int, newest: int, write: int) -> None:
    """Touch what ends the names of a parcel that has room for more: the word behind the newest, and the last word."""
    if state.nodes[newest]["name"] + 1 < state.classes[cls]["parcel"]:
        parcel = block_at(state, int(state.nodes[newest]["parcel"]))
        touch(state.listener, parcel + WORD * (int(state.nodes[newest]["name"]) + 1), write)
        touch(state.listener, parcel + WORD * (int(state.classes[cls]["parcel"]) - 1), write)


@kernel
def hands_over(state: State, heap: int) -> None:
    """Hand over all batches of the heap's thread."""
    for cls in range(state.class_count):
        for number in range(PLACES):
            touch(state.listener, place_at(state, heap, cls, number), 0)
            if state.slots[boxes_in(state, heap, cls) + FIRST_PLACE + PLACE_SLOTS * number + OWNER] > 0:
                hand_over(state, heap, cls, number)


@kernel
def look_lines(state: State, heap: int, which: int) -> None:
    """Touch the parcels that wait for a class, and its inbox if none do; of all classes in `opens`."""
    if which >= 0:
        boxes = boxes_in(state, heap, which)
        waiting = part_at(state, heap) + WORD * (state.class_count + which)
        touch(state.listener, waiting, 0)
        if state.slots[boxes + WAITING] == 0:
            touch(state.listener, part_at(state, heap) + WORD * which, int(state.slots[boxes + INBOX] > 0))
        if state.slots[boxes + WAITING] + state.slots[boxes + INBOX] > 0:
            touch(state.listener, waiting, 1)


@kernel
def has_parcels(state: State, heap: int, cls: int) -> bool:
    """Take the inbox of a class if no parcels wait; return whether some do now."""
    boxes = boxes_in(state, heap, cls)
    if state.slots[boxes + WAITING] == 0:
        state.slots[boxes + WAITING] = state.slots[boxes + INBOX]
        state.slots[boxes + INBOX] = 0
    return bool(state.slots[boxes + WAITING] > 0)


@kernel
def opens(state: State, heap: int, which: int) -> int:
    """Return the blocks of the parcels that a drain opens, the first node; -1: none."""
    if which >= 0:
        if not has_parcels(state, heap, which):
            return -1
        touch(state.listener, class_at(which) + CLASS_REFILL, 0)
        return opened(state, heap, which, int(state.classes[which]["refill_batch"]))
    for cls in range(state.class_count):
        if cls != -2 - which:
            look_lines(state, heap, cls)
            if has_parcels(state, heap, cls):
                return opened(state, heap, cls, state.nodes_made)
    return -1


@kernel
def opened(state: State, heap: int, cls: int, least: int) -> int:
    """Take whole parcels of `least` blocks or more from those that wait, or all; return their first node."""
    waiting = boxes_in(state, heap, cls) + WAITING
    first = int(state.slots[waiting]) - 1
    node, blocks = first, 1
    clears = int(state.tail_bytes > 0)
    end_lines(state, cls, node, clears)
    while state.nodes[node]["next"] >= 0 and (blocks < least or state.nodes[node]["name"] > 0):
        is_last = state.nodes[node]["name"] == 0
        node = int(state.nodes[node]["next"])
        blocks += 1
        if is_last:
            end_lines(state, cls, node, clears)
    state.slots[waiting] = state.nodes[node]["next"] + 1
    state.nodes[node]["next"] = -1
    return first


@kernel
def lacks(state: State, heap: int, cls: int) -> bool:
    """Return whether the store has no available slab, so that the blocks of other classes may empty one."""
    return bool(choice_gives(state, heap * state.store_step + cls) < 0)


@kernel
def leave_lines(state: State, heap: int, node: int, is_linked: bool) -> None:
    """Touch the counter, and the word of the parcel that names the block, or its link."""
    name_lines(state, node, int(state.tail_bytes > 0))
    touch(state.listener, count_at(state, heap, int(state.nodes[node]["block"]) & CLASS_MASK) + COUNT_DRAINED, 1)


@kernel
def goes_by_class(state: State) -> bool:
    """Return True: a drain knows the class of its blocks, and whose they are."""
    return True


def chains(state: State, heap: int) -> list[tuple[int, int]]:
    """Return the chains in a heap's boxes: each the owner of its blocks and its first node."""
    found = []
    for cls in range(state.class_count):
        boxes = boxes_in(state, heap, cls)
        found += [(heap, int(state.slots[boxes + box]) - 1) for box in (INBOX, WAITING)]
        for place in range(boxes + FIRST_PLACE, boxes + SLOTS, PLACE_SLOTS):
            found.append((int(state.slots[place + OWNER]) - 1, int(state.slots[place + NEWEST]) - 1))
    return found


def heap_fields(design: Any) -> list[Field]:
    """Return what the list adds to struct heap."""
    return fields_of(numbers(design))


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"drains": "drains_class", "interval": "uncounted"}
