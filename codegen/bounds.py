"""The claim of a bounded design: from malloc, free and their kin no system call, and no loop without a bound.

The walk begins at the exported functions of BOUNDED and ends at GATES, the functions behind which
the bounded part ends, each with its reason and the counters that tell of it (docs/machine-rooms.md).
"""

from collections.abc import Iterator
from pathlib import Path

from heapsmith.codegen.claims import Row, judged
from heapsmith.codegen.flow import HOOKS, Function, Image, Loop, function_at, longest, plain, read_image
from heapsmith.codegen.instruction import Unreadable
from heapsmith.model.errors import CheckFailed

CHECK = "bounds"

BOUNDED = (
    *("malloc", "free", "calloc", "realloc", "reallocarray", "aligned_alloc", "posix_memalign", "memalign", "valloc"),
    *("pvalloc", "malloc_usable_size", "cfree", "free_sized", "free_aligned_sized"),
    *("_Znwm", "_ZnwmSt11align_val_t", "_ZdlPv", "_ZdlPvSt11align_val_t"),
)

GATES = {
    "hs_heap_start": "the thread's first request: it gets a heap (heaps, adoptions)",
    "hs_free_without_heap": "a thread that gets no heap frees (direct)",
    "hs_slow_listener": "a slow path, where metrics are asked for (HEAPSMITH=metrics)",
    "hs_watch_fork": "once, as the process gets its second thread",
    "new_slab": "the heap's prepared slabs are used up (superslabs_late)",
    "open_slab": "the slab gave up its memory when the system refused some (releases)",
    "hs_malloc_large": "a large request, or a small one without a slab (run_*, huge_*)",
    "hs_large_alloc": "a large request (run_*, huge_*)",
    "hs_free_large": "NULL, a large block, or none of this heap's (run_free, huge_unmap)",
    "hs_large_usable": "a large block, or none of this heap's",
    "hs_large_bytes": "a large block, or none of this heap's",
    "hs_large_empty": "a large block, or none of this heap's",
    "hs_large_resize": "realloc of a large block (run_extend, huge_remap)",
    "foreign": "a pointer that is no block (foreign)",
    "elsewhere_realloc": "realloc of a block of another allocator (foreign)",
    "elsewhere_usable": "the size of a block of another allocator (foreign)",
    "commit_up_to": "pages of a slab that was not prepared (superslabs_late, committed)",
    "new_elsewhere": "operator new without memory",
    "aligned_elsewhere": "operator new without memory",
}
"""Where the bounded part ends: functions that the compiler keeps whole (GATE), and when they are called."""

COPIES = {"memcpy@plt", "memmove@plt", "memset@plt"}
"""They take time by the bytes that they copy or clear, and make no system call."""
HARMLESS = COPIES | {"__errno_location@plt"}


class _Walk:
    """The walk over a library: each function once; its worst instructions, loops and gates."""

    def __init__(self, image: Image) -> None:
        self.image = image
        self.worst: dict[int, int] = {}
        self.loops: dict[Loop, None] = {}
        self.gates: dict[str, set[str]] = {}
        self.faults: list[str] = []
        self.open: list[int] = []

    def name(self, entry: int) -> str:
        return plain(self.image.names[entry][0])

    def worst_of(self, entry: int) -> int:
        """Return the most instructions from an entry on, without what lies behind gates and in copies."""
        if entry in self.worst:
            return self.worst[entry]
        if entry in self.open:
            circle = " -> ".join(map(self.name, [*self.open[self.open.index(entry) :], entry]))
            raise Unreadable(f"calls itself: {circle}")
        self.open.append(entry)
        function = function_at(self.image, entry)
        weight = dict.fromkeys(function.edges, 1)
        for address, callees in function.calls.items():
            weight[address] += max(self._callee(function, callee) for callee in callees)
        total, loops = longest(function, self.image.marks, weight)
        self.loops |= dict.fromkeys(loops)
        self.open.pop()
        self.worst[entry] = total
        return total

    def _callee(self, function: Function, callee: str) -> int:
        """Return the most instructions of what a function calls."""
        if callee in HOOKS:
            self.gates.setdefault(callee, set()).add(plain(function.name))
            return 0
        if not callee.startswith("0x"):
            if callee not in HARMLESS:
                self.faults.append(f"{plain(function.name)} calls {callee}")
            return 0
        entry = int(callee, 16)
        gate = next((name for name in map(plain, self.image.names[entry]) if name in GATES), None)
        if gate is None:
            return self.worst_of(entry)
        self.gates.setdefault(gate, set()).add(plain(function.name))
        return 0


def audit_bounds(library: Path) -> list[Row]:
    """Return a row for each exported function, each loop and each gate of a bounded design's library.

    Raises Missing without objdump or objcopy.
    """
    try:
        image = read_image(library)
    except CheckFailed as error:
        return [judged(CHECK, "library", "objdump reads it", [str(error)])]
    walk = _Walk(image)
    rows = [_function_row(walk, name) for name in BOUNDED]
    return [*rows, *_loop_rows(walk), *_gate_rows(walk)]


def _function_row(walk: _Walk, name: str) -> Row:
    claim = "no system call, and each loop has a bound, up to the gates"
    entry = walk.image.listing.symbols.get(name)
    if entry is None:
        return judged(CHECK, name, claim, ["the library has no such function"])
    walk.faults = []
    walk.open = []
    try:
        worst = walk.worst_of(entry)
    except Unreadable as error:
        return judged(CHECK, name, claim, [*walk.faults, str(error)])
    if walk.faults:
        return judged(CHECK, name, claim, walk.faults)
    return Row(CHECK, name, claim, f"at most {worst:,} instructions", True)


def _loop_rows(walk: _Walk) -> Iterator[Row]:
    for loop in walk.loops:
        marks = sorted(loop.marks)
        bound = " * ".join(mark.text for mark in marks)
        names = ", ".join(mark.name for mark in marks)
        claim = f"{bound} = {loop.most:,} rounds at most" if marks else "a bound"
        faults = [] if marks else [f"the loop at {loop.head:#x} states none on each of its ways"]
        yield judged(CHECK, f"{plain(loop.function)}: {names}".rstrip(": "), f"a loop: {claim}", faults)


def _gate_rows(walk: _Walk) -> Iterator[Row]:
    for gate, callers in walk.gates.items():
        yield Row(CHECK, gate, f"a gate: {GATES[gate]}", f"called by {', '.join(sorted(callers))}", True)
