"""The registry of superslabs by hand: homes, and superslabs that collide; docs/machine-rooms.md, 'classifier'."""

import ctypes
from pathlib import Path

import pytest
from covering import covering_designs
from lives import run
from loaded import unchecked_library
from program import NONE
from test_lines import SPAN_BYTES, differences, events

from heapsmith.codegen.build import build
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.memory.listener_words import LOGGED
from heapsmith.model.memory.touches import LOG
from heapsmith.model.policy.classifier import registry
from heapsmith.model.trace.reader import Op

SLAB = 1 << 21
LARGE = Design(
    *("large", [1024, SLAB]),
    **{"front": NONE, "classifier": "registry", "slab_bytes": SLAB, "superslab_bytes": SLAB, "huge_bytes": SLAB},
    slab_span_bytes=1 << 28,
)
"""128 superslabs of one slab, a table of 256 slots, 16 of them in a line."""
LINE = 64


def test_numbers() -> None:
    numbers = make_plan(load("registry")).numbers
    assert numbers["registry_slots"] == 1 << 18
    assert (numbers["registry_factor"] * 3 % 2**32) >> numbers["registry_shift"] == 223_897  # of superslab 3


def test_too_many_superslabs() -> None:
    with pytest.raises(BadInput, match="slab_span_bytes: 274877906944 holds 4194304 superslabs; classifier 'registry'"):
        changed(load("registry"), "small", {"slab_bytes": 65_536, "superslab_bytes": 65_536})


class Probes:
    """A heap whose events tell which lines of the table they touch, and whether they write: (line, 1 or 0).

    Not compiled: a loop with a log and rare rows takes a minute, and no other test has it.
    """

    def __init__(self) -> None:
        self.listener = Listener(load_hardware("default"), LOG, 1 << 16)
        self.simulator = Simulator(
            make_plan(LARGE), compiled=False, listener=self.listener, application=Application("none", "none")
        )

    def step(self, op: Op, block: int, size: int = 0) -> list[tuple[int, int]]:
        self.listener.array[LOGGED] = 0
        self.simulator.step(op, 0, block, size)
        ends = registry.TABLE, registry.TABLE + registry.ENTRY_BYTES * 256
        return [((at - ends[0]) // LINE, write) for at, write in self.listener.log() if ends[0] <= at < ends[1]]


def test_probes_go_on_behind_the_last_slot(monkeypatch: pytest.MonkeyPatch) -> None:
    """The home of superslab k is -k / 2, rounded down: 0, 255, 255, 254, 254."""
    monkeypatch.setattr(registry, "FACTOR", 511 << 23)
    heap = Probes()
    assert heap.step(Op.MALLOC, 0, SLAB) == [(0, 1)]
    assert heap.step(Op.MALLOC, 1, SLAB) == [(15, 1)]
    assert heap.step(Op.MALLOC, 2, SLAB) == [(15, 0), (0, 0), (0, 1)]  # slots 255, 0 and 1
    assert heap.step(Op.MALLOC, 3, SLAB) == [(15, 1)]
    assert heap.step(Op.MALLOC, 4, SLAB) == [(15, 0), (15, 0), (0, 0), (0, 0), (0, 1)]  # 254, 255, 0, 1 and 2
    assert heap.step(Op.FREE, 2) == [(15, 0), (0, 0), (0, 0)]
    assert heap.step(Op.FREE, 3) == [(15, 0)]


def test_superslabs_that_follow_one_another_seldom_collide() -> None:
    heap = Probes()
    assert [len(heap.step(Op.MALLOC, block, SLAB)) for block in range(128)] == [1] * 128


COLLIDING = 1 << 14
"""As factor: superslabs that follow one another have one home, two where the table has 2^17 slots, eight where 2^15."""


def crowded() -> Design:
    """A covering design with small superslabs, of which many are mapped."""
    return next(
        design for design in covering_designs() if design.classifier == "registry" and design.superslab_bytes <= 16_384
    )


def test_a_library_whose_superslabs_collide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "FACTOR", COLLIDING)
    assert run(crowded(), examples=2)["superslabs"] > 1


@pytest.mark.big
def test_lines_of_superslabs_that_collide(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(registry, "FACTOR", COLLIDING)
    small = {"slab_bytes": 4096, "superslab_bytes": 65_536, "slab_span_bytes": SPAN_BYTES}
    design = changed(load("registry"), "collides", small)
    library = build(design, tmp_path / "library.so")
    assert differences(make_plan(design), library, events(5, 400, 2), tmp_path) == []


def test_a_pointer_into_no_superslab_is_no_block() -> None:
    library = ctypes.CDLL(str(unchecked_library(load("registry"))))
    library.malloc.restype, library.malloc.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
    library.malloc_usable_size.restype = ctypes.c_size_t
    library.malloc_usable_size.argtypes = library.free.argtypes = [ctypes.c_void_p]
    block = library.malloc(100)
    beyond = block + 1000 * load("registry").superslab_bytes
    assert library.malloc_usable_size(block) == 112
    assert library.malloc_usable_size(beyond) == 0
    library.free(beyond)
    library.free(block)
    assert library.malloc(100) == block
