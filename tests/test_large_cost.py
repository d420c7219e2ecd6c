"""What large blocks cost: as much for each, however many there are, how long, and in which order they are freed."""

import shutil
from pathlib import Path

import msgspec
import numpy as np
import pytest

from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import load
from heapsmith.model.memory.hardware import Level
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import Chunk, Op
from heapsmith.model.trace.writer import TraceWriter
from heapsmith.tools.replay.callgrind import Caches, replay_counts
from heapsmith.tools.replay.script import write_script

SHORT, LONG = (2_000_000, 3_600_000), (5_000_000, 9_000_000)
CASES = ((128, LONG), (512, LONG), (512, SHORT))
"""How many blocks are live at once, and from which to which size."""

CACHES = Caches(Level(32_768, 8), Level(1 << 20, 16))
ORDERS = 4
WORK = ("run_links", "run_extents", "runs_looked_at")
"""What the model counts of the work on runs, besides calls."""


def orders(count: int) -> list[list[int]]:
    """In which order the blocks are freed, round by round."""
    blocks = list(range(count))
    drawn = np.random.default_rng(5).permutation(count).tolist()
    return [blocks, blocks[::-1], drawn, blocks[::2] + blocks[1::2]]


def trace(path: Path, count: int, sizes: tuple[int, int]) -> Path:
    """A trace of rounds: `count` blocks of these sizes are born, then all are freed."""
    asked = np.random.default_rng(3).integers(*sizes, count, endpoint=True).tolist()
    rows = []
    for order in orders(count):
        rows += [(Op.MALLOC, block, size) for block, size in enumerate(asked)]
        rows += [(Op.FREE, block, 0) for block in order]
    return written(path, rows)


def written(path: Path, rows: list[tuple[Op, int, int]]) -> Path:
    """The trace of one thread with these events: operation, block, bytes."""
    ops, blocks, wanted = zip(*rows, strict=True)
    zeros = [0] * len(rows)
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, wanted, zeros, range(len(rows))))
    return path


def test_the_model_does_as_much_for_each_block(tmp_path: Path) -> None:
    designs = [load(name) for name in ("lean", "bare", "keep")]  # whose budgets do not grow
    done = []
    for count, sizes in CASES:
        rows = simulate(trace(tmp_path / f"{count}-{sizes[0]}.hst", count, sizes), designs).rows
        work = [[*(row.statistics.work[name] for name in WORK), row.counters.totals["releases"]] for row in rows]
        done.append(np.array(work) / (ORDERS * count))
    assert done[1] == pytest.approx(done[0], rel=0.05, abs=0.05)
    assert done[2] == pytest.approx(done[1], rel=0.05, abs=0.05)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("name", ["default", "lean"])
def test_the_library_does_as_much_for_each_block(name: str, tmp_path: Path) -> None:
    # The looks for evidence go by bytes of the span, fewer for each block of a longer one.
    library = library_of(msgspec.structs.replace(load(name), thp_runs_from_bytes=1 << 40))
    done = []
    for count, sizes in CASES:
        script = tmp_path / f"{count}-{sizes[0]}"
        write_script(trace(script.with_suffix(".hst"), count, sizes), script)
        done.append(replay_counts(script, library).instructions / (ORDERS * count))
    assert done[1] == pytest.approx(done[0], rel=0.05)  # the first 256 runs have no cache
    assert done[2] == pytest.approx(done[1], rel=0.05)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_calloc_does_not_write_fresh_pages(tmp_path: Path) -> None:
    """Of runs at the top of their span, and of huge blocks: only the replay misses their lines, as after malloc."""
    design = load("default")
    sizes = [2_000_000] * 2 + [design.huge_bytes + 1]
    missed = []
    for op in (Op.MALLOC, Op.CALLOC):
        script = tmp_path / op.name
        write_script(written(script.with_suffix(".hst"), [(op, *row) for row in enumerate(sizes)]), script)
        missed.append(replay_counts(script, library_of(design), CACHES).d1_misses)
    assert missed[1] == pytest.approx(missed[0], rel=0.01)
