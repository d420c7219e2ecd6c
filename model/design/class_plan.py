"""The size classes of a Plan: their blocks, their fronts, and their places in a heap's slots."""

from bisect import bisect_left

import msgspec

from heapsmith.model import policy
from heapsmith.model.constants import first_bytes
from heapsmith.model.design.choices import derive_front
from heapsmith.model.design.design import Design
from heapsmith.model.policy.front.common import FrontPlan

RECIPROCAL_SHIFT = 42


class ClassPlan(msgspec.Struct, frozen=True, omit_defaults=True):
    """A size class; bytes unless the name says otherwise (docs/machine.md, 'address space')."""

    index: int
    size: int
    stride: int
    usable: int
    first: int
    blocks: int
    tail_bytes: int
    smallest_request: int
    worst_internal_bytes: int
    bitmap_words: int
    reciprocal: int
    front: FrontPlan
    stack: int
    slot_base: int
    list_base: int
    is_apart: bool = False  # whether groups of call sites have blocks of this size of their own
    resizable: bool = False  # whether the capacity of level 0 changes as the program runs
    numbers: dict[str, int] = {}  # of the rows that the design chose (model/policy)
    fields: dict[str, int] = {}  # such numbers that lie in the class's row of the library
    group: int = 0  # of call sites; its class has the blocks of this group alone

    @property
    def name(self) -> str:
        """The name in the emitted C: the size, and the group of a further class."""
        return f"{self.size}_{self.group}" if self.group else str(self.size)

    @property
    def callers(self) -> str:
        """Whose blocks these are, as a sentence; empty: everybody's."""
        if self.group:
            return f"For the call sites of group {self.group} alone."
        return "For all call sites but those of a group with this size." if self.is_apart else ""

    @property
    def room(self) -> int:
        """The slots of level 0 in each heap: the most blocks that its capacity may come to."""
        return self.list_base - self.slot_base

    @property
    def slots_end(self) -> int:
        """Where the slots of the class's front end in a heap's."""
        return self.list_base + self.front.slots_below + self.front.guard_slots

    @property
    def below(self) -> list[dict[str, int]]:
        """The numbers of the levels below level 0 in the emitted C; slot 0: its count is in the front's record."""
        return [
            {
                "kind": level.code,
                **{name: getattr(level, name) for name in ("capacity", "out", "up")},
                "slot": level.is_apart * (self.list_base + level.at),
            }
            for level in self.front.levels
        ]


def class_plans(design: Design, header: int, tail: int, in_page: int) -> list[ClassPlan]:
    """Return the class table; with a header, the first block leaves room for its own header.

    in_page: the place of a heap's first slot in its page, for slots with pages of their own, a page apart.
    """
    rows: list[ClassPlan] = []
    spare = design.row("heaps").SPARE
    slots = 2 * spare  # row 0, of no class, has a slot that stays NULL, and its spare one
    slots += design.row("opening").slots_before(design)
    numbers, fields, has_marks = _class_numbers(design), _class_fields(design), design.row("freed_blocks").MARKS
    for index, (size, group) in enumerate(design.classes()):
        first = first_bytes(header)
        room = design.slab_bytes - first + header
        blocks = room // size
        # A hardened block of no bytes is a guard alone (docs/machine-rooms.md, 'hardening').
        smaller = design.sizes.index(size) - 1
        smallest = rows[smaller].usable + 1 if smaller >= 0 else int(design.row("hardening").LIVE_MAP)
        front = derive_front(design.front_of(size), size)
        most = design.row("learner").most_capacity(front, numbers[index])
        if front.guard_slots:
            slots += 2 * front.guard_slots - (slots + 1 + front.guard_slots + in_page) % front.guard_slots
        rows.append(
            ClassPlan(
                index=index,
                size=size,
                stride=size,
                usable=size - header - tail,
                first=first,
                blocks=blocks,
                tail_bytes=room - blocks * size,
                smallest_request=smallest,
                worst_internal_bytes=size - header - tail - smallest,
                bitmap_words=-(-blocks // 64) if has_marks else 0,
                reciprocal=reciprocal(size),
                front=front,
                stack=front.capacity if policy.row("front", front.kind).IS_STACK else 0,
                slot_base=slots + 1,
                list_base=slots + 1 + (most or front.capacity) * front.has_slots + spare,
                is_apart=not group and any(size == other for other, of in design.classes() if of),
                resizable=most is not None,
                numbers=numbers[index],
                fields=fields[index],
                group=group,
            )
        )
        slots = rows[-1].list_base + front.slots_below
    return rows


def _class_numbers(design: Design) -> list[dict[str, int]]:
    """Return by class the numbers of the rows that the design chose, by name."""
    rows = [row for row in map(design.row, policy.TABLES) if hasattr(row, "CLASS_NUMBERS")]
    by_row = [(row.class_numbers(design), getattr(row, "SIZES_ALONE", False)) for row in rows]
    return [
        {
            name: 0 if alone and group else number
            for of_sizes, alone in by_row
            for name, number in of_sizes[design.sizes.index(size)].items()
        }
        for size, group in design.classes()
    ]


def _class_fields(design: Design) -> list[dict[str, int]]:
    """Return by class the CLASS_FIELDS of the rows that the design chose."""
    by_row = [row.class_fields(design) for row in map(design.row, policy.TABLES) if hasattr(row, "CLASS_FIELDS")]
    return [
        {name: number for of_classes in by_row for name, number in of_classes[index].items()}
        for index in range(len(design.classes()))
    ]


def reciprocal(stride: int) -> int:
    """Return m with (x * m) >> 42 == x // stride for 0 <= x < 2^21, the largest slab.

    m = floor(2^42 / stride) + 1 adds less than x / 2^42 to x / stride, and the next integer is at
    least 1 / stride away. So the result is exact while x * stride < 2^42. Granlund and Montgomery,
    "Division by invariant integers using multiplication", PLDI 1994.
    """
    return (1 << RECIPROCAL_SHIFT) // stride + 1


def size_classes_of(classes: list[ClassPlan], grain: int, bias: int) -> list[int]:
    """Return class by (request + bias + grain - 1) / grain: the first that holds the request."""
    entries = (classes[-1].usable + bias + grain - 1) // grain + 1
    usable = [row.usable for row in classes]
    return [bisect_left(usable, entry * grain - bias) for entry in range(entries)]
