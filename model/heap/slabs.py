"""Slabs: out of superslabs or the pools to a class, back when they are empty, their pages to the OS; section 6."""

from heapsmith.model.compile.kernel import Ints, Records, hit_path, kernel
from heapsmith.model.heap.age import join, leave
from heapsmith.model.memory.layout import (
    COUNT_ACQUIRE,
    COUNT_RETIRE,
    COUNTS,
    MARKS,
    POOL_LOCK,
    SLAB_BYTES,
    SLAB_CLASS,
    SLAB_CLASS_NUMBER,
    SLAB_ELDER,
    SLAB_NEWER,
    SLAB_NEXT,
    SLAB_OLDER,
    SLAB_OWNER,
    SLABS,
    SPAN,
    TOTAL_COMMITTED,
    TOTAL_RELEASES,
    TOTAL_SLABS,
    TOTAL_SUPERSLABS,
    WORD,
    count_at,
    slab_at,
)
from heapsmith.model.memory.touches import gone, on_huge, touch, touch_bytes
from heapsmith.model.policy.dispatch import (
    KEEP,
    LOCAL_CACHE,
    SLAB_MAP,
    pool_of,
    release_goes,
    release_grown,
    superslab_place,
)
from heapsmith.model.policy.hardening.lines import map_is_committed, map_is_released

WORD_SHIFT = 5
WORD_MASK = 31
"""Bitmaps keep 32 marks in each int64, so that plain Python and compiled code agree without unsigned arithmetic."""


@kernel
def commit(touched: Ints, machine: Records, size: int) -> None:
    """`size` more bytes are committed."""
    if size != 0:
        touch(touched, COUNTS + TOTAL_COMMITTED, 1)
    committed = int(machine[0]["committed"]) + size
    machine[0]["committed"] = committed
    if committed > machine[0]["committed_peak"]:
        machine[0]["committed_peak"] = committed


@kernel
def acquire(touched: Ints, machine: Records, classes: Records, slabs: Records, marks: Ints, heap: int, cls: int) -> int:
    """An empty slab for the class: the last retired of its pool, else a new one; -1 if the span is full."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    slab = int(classes[pool]["retired"])
    if slab >= 0:
        classes[pool]["retired"] = slabs[slab]["next"]
        touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 0)
        if slabs[slab]["committed"] > 0:
            leave_age_queue(touched, machine, slabs, slab)
        else:
            machine[0]["slab_budget_bytes"] = release_grown(
                int(machine[0]["release_code"]),
                int(machine[0]["slab_budget_bytes"]),
                int(machine[0]["slab_bytes"]),
                int(machine[0]["most_budget_bytes"]),
            )
        words = int(machine[0]["slab_words"])
        for word in range(slab * words, slab * words + (int(slabs[slab]["carved"]) + WORD_MASK) // (WORD_MASK + 1)):
            marks[word] = 0
    else:
        slab = new_slab(touched, machine, slabs, classes, pool, cls)
        if slab < 0:
            return -1
    touch(touched, slab_at(slabs, slab), 1)
    touch(touched, count_at(machine, heap, cls) + COUNT_ACQUIRE, 1)
    slab_lines(touched, machine, slabs, slab)
    slabs[slab]["class"] = cls
    slabs[slab]["owner"] = heap
    slabs[slab]["carved"] = 0
    slabs[slab]["freed"] = 0
    slabs[slab]["out"] = 0
    slabs[slab]["low"] = 0
    classes[cls]["acquire"] += 1
    return slab


@kernel
def new_slab(touched: Ints, machine: Records, slabs: Records, classes: Records, pool: int, cls: int) -> int:
    """The next slab of the pool's superslab, mapping another if it has none left; -1 if the span is full."""
    if classes[pool]["left"] == 0:
        place = superslab_place(machine, cls, int(machine[0]["superslabs"]), int(classes[pool]["mapped"]))
        if place < 0:
            return -1
        mapped_bytes = int(machine[0]["superslabs"] * machine[0]["slabs_per_superslab"] * machine[0]["slab_bytes"])
        machine[0]["superslabs"] += 1
        classes[pool]["mapped"] += 1
        classes[pool]["next_place"] = place
        classes[pool]["left"] = int(machine[0]["slabs_per_superslab"]) - int(machine[0]["guard_slabs"])
        is_huge = machine[0]["thp_asked"] == 1 and mapped_bytes >= machine[0]["thp_slabs_from_bytes"]
        classes[pool]["next_huge"] = is_huge
        touch(touched, COUNTS + TOTAL_SUPERSLABS, 1)
        map_is_committed(machine)
        if is_huge:
            machine[0]["advised"] += 1
            superslab_bytes = int(machine[0]["slabs_per_superslab"]) * int(machine[0]["slab_bytes"])
            on_huge(touched, SPAN + place * int(machine[0]["slab_bytes"]), superslab_bytes)
            touch_bytes(touched, SLABS + place * SLAB_BYTES, int(machine[0]["slabs_per_superslab"]) * SLAB_BYTES, 1)
            commit(touched, machine, int(machine[0]["slabs_per_superslab"]) * int(machine[0]["slab_bytes"]))
    slab = int(machine[0]["slabs"])
    slabs[slab]["place"] = classes[pool]["next_place"]
    touch(touched, slab_at(slabs, slab) + SLAB_OLDER, 1)
    touch(touched, COUNTS + TOTAL_SLABS, 1)
    if classes[pool]["next_huge"] == 1:
        slabs[slab]["committed"] = machine[0]["slab_bytes"]
    classes[pool]["next_place"] += 1
    classes[pool]["left"] -= 1
    machine[0]["slabs"] = slab + 1
    if slab + 1 > machine[0]["slab_room"]:
        machine[0]["full"] = 1
    return slab


@kernel
def retire(touched: Ints, machine: Records, classes: Records, slabs: Records, heap: int, slab: int, cls: int) -> None:
    """An empty slab goes to the pool of its class (LIFO) and the age queue; then the oldest beyond the budget are
    released."""
    pool = pool_of(int(machine[0]["empties_code"]), cls)
    touch(touched, count_at(machine, heap, cls) + COUNT_RETIRE, 1)
    touch_bytes(touched, marks_at(machine, slabs, slab), int(machine[0]["bitmap_words"]) * WORD, 1)
    touch(touched, slab_at(slabs, slab) + SLAB_NEXT, 1)
    slab_lines(touched, machine, slabs, slab)
    slabs[slab]["owner"] = -1
    slabs[slab]["next"] = classes[pool]["retired"]
    classes[pool]["retired"] = slab
    classes[cls]["retire"] += 1
    join_age_queue(touched, machine, slabs, slab)
    release = int(machine[0]["release_code"])
    while release_goes(release, int(machine[0]["aged_slab_bytes"]), int(machine[0]["slab_budget_bytes"])):
        release_slab(touched, machine, slabs, int(machine[0]["oldest_slab"]))


@kernel
def join_age_queue(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes becomes the newest of the age queue (FIFO), which the library has where pages
    are released."""
    newest = int(machine[0]["newest_slab"])
    if machine[0]["release_code"] != KEEP:
        touch(touched, slab_at(slabs, slab) + SLAB_NEWER, 1)
        touch(touched, slab_at(slabs, slab) + SLAB_ELDER, 1)
        if newest >= 0:
            touch(touched, slab_at(slabs, newest) + SLAB_NEWER, 1)
    join(slabs, newest, slab)
    machine[0]["newest_slab"] = slab
    if machine[0]["oldest_slab"] < 0:
        machine[0]["oldest_slab"] = slab
    machine[0]["aged_slab_bytes"] += slabs[slab]["committed"]


@kernel
def leave_age_queue(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab with committed bytes leaves the age queue."""
    if machine[0]["release_code"] != KEEP:
        older, newer = int(slabs[slab]["older"]), int(slabs[slab]["newer"])
        touch(touched, slab_at(slabs, slab) + SLAB_NEWER, 0)
        touch(touched, slab_at(slabs, slab) + SLAB_ELDER, 0)
        touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 1)
        if older >= 0:
            touch(touched, slab_at(slabs, older) + SLAB_NEWER, 1)
        if newer >= 0:
            touch(touched, slab_at(slabs, newer) + SLAB_ELDER, 1)
    leave(slabs, slab)
    if machine[0]["oldest_slab"] == slab:
        machine[0]["oldest_slab"] = slabs[slab]["newer"]
    if machine[0]["newest_slab"] == slab:
        machine[0]["newest_slab"] = slabs[slab]["older"]
    machine[0]["aged_slab_bytes"] -= slabs[slab]["committed"]


@kernel
def release_slab(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """An empty slab leaves the age queue and its pages go back to the OS; it stays in its pool."""
    leave_age_queue(touched, machine, slabs, slab)
    touch(touched, slab_at(slabs, slab), 1)
    touch(touched, COUNTS + TOTAL_RELEASES, 1)
    touch(touched, COUNTS + TOTAL_COMMITTED, 1)
    gone(touched, SPAN + int(slabs[slab]["place"]) * int(machine[0]["slab_bytes"]), int(machine[0]["slab_bytes"]))
    map_is_released(touched, machine, int(slabs[slab]["place"]))
    machine[0]["releases"] += 1
    machine[0]["released_bytes"] += slabs[slab]["committed"]
    machine[0]["committed"] -= slabs[slab]["committed"]
    slabs[slab]["committed"] = 0


@hit_path
def marks_at(machine: Records, slabs: Records, slab: int) -> int:
    """Where a slab's bitmap begins."""
    return MARKS + int(slabs[slab]["place"]) * int(machine[0]["bitmap_words"]) * WORD


@kernel
def slab_lines(touched: Ints, machine: Records, slabs: Records, slab: int) -> None:
    """Of a slab that gets a class, or has none any more: its class and flags, its owner, and what free looks at."""
    touch(touched, slab_at(slabs, slab) + SLAB_CLASS_NUMBER, 1)
    if machine[0]["remote_code"] != LOCAL_CACHE:
        touch(touched, POOL_LOCK, 1)
        touch(touched, slab_at(slabs, slab) + SLAB_OWNER, 1)
    if machine[0]["classifier_code"] == SLAB_MAP:
        touch(touched, SLAB_CLASS + int(slabs[slab]["place"]), 1)
