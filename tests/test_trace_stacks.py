"""The stacks of a trace and its column `site`: they come back, readers may ignore them, damage is found, salvage."""

import re
from pathlib import Path

import msgspec
import numpy as np
import pytest
from test_trace_codec import table
from traces import random_chunk

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.codec import COLUMNS, FREE_SITE, SITE
from heapsmith.model.trace.events import WITH_SITE, Chunk, join, op_mask
from heapsmith.model.trace.reader import TraceReader, TraceWriter, salvage, verify
from heapsmith.model.trace.stacks import CallTree, Module, Stacks

TREE = CallTree(
    [Module("/bin/made", "c0ffee"), Module("[vdso]", None)],
    np.array([-1, 0, 1, 1, -1]),
    np.array([0, 0, 1, 0, -1]),
    np.array([16, 4096, 3, 77, 2**47 - 1]),
    np.array([2, 3, 3, 4]),
)
EVENTS, PART = 2000, 300


def sites_of(chunk: Chunk) -> np.ndarray[tuple[int], np.dtype[np.uint32]]:
    """Sites 0 to 4 for the events that have one."""
    numbers = np.random.default_rng(5).integers(0, 5, chunk.op.size)
    return np.where(op_mask(WITH_SITE)[chunk.op], numbers, 0).astype(np.uint32)


def written(path: Path, stacks: Stacks | None, piece: int = 777) -> Path:
    """A trace of EVENTS events with sites, appended piece by piece."""
    chunk = random_chunk(EVENTS, 7, 3, live=50)
    site = sites_of(chunk)
    with TraceWriter(path, command=[], source="test", chunk_events=PART, sites=True) as writer:
        for first in range(0, EVENTS, piece):
            writer.append(chunk.part(first, first + piece), site[first : first + piece])
        writer.close({"stacks": stacks})
    return path


@pytest.mark.parametrize("piece", [1, 777, EVENTS])
def test_sites_and_stacks_come_back(tmp_path: Path, piece: int) -> None:
    path = written(tmp_path / "t.hst", TREE.packed(), piece)
    chunk = random_chunk(EVENTS, 7, 3, live=50)
    with TraceReader(path) as trace:
        parts = list(trace.sited())
        tree = trace.stacks()
        plain = join(list(trace))  # who asks for no sites gets the events alone
    assert all(np.array_equal(a, b) for a, b in zip(plain, chunk, strict=True))
    assert np.array_equal(np.concatenate([site for _, site in parts]), sites_of(chunk))
    assert tree is not None
    assert tree.modules == TREE.modules
    assert all(np.array_equal(a, b) for a, b in zip(tree[1:], TREE[1:], strict=True))
    assert [tree.path(site) for site in range(5)] == [[], [2, 1, 0], [3, 1, 0], [3, 1, 0], [4]]
    assert verify(path).events == EVENTS


def test_a_trace_without_stacks_is_as_before(tmp_path: Path) -> None:
    path = tmp_path / "t.hst"
    with TraceWriter(path, command=[], source="test") as writer:
        writer.append(random_chunk(EVENTS, 7, 3))
    with TraceReader(path) as trace:
        assert trace.header.columns == COLUMNS
        assert trace.stacks() is None
        assert [int(site.max()) for _, site in trace.sited()] == [0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"stacks": EVENTS + 1}, "too many for 2000 events"),
        ({"frames": 10**9}, "too many for 2000 events"),
        ({"frames": 6}, "stacks.parent does not hold 6 values"),
        ({"parent": b"12345678"}, "footer: stacks.parent"),
        ({"offset": b""}, "stacks.offset is missing"),
        ({"modules": []}, "expected a tree of frames in the modules"),
        ({"parent": TREE._replace(parent=np.array([-2, 0, 1, 1, -1])).packed().parent}, "expected a tree"),
        ({"innermost": TREE._replace(innermost=np.array([2, 3, 3, 5])).packed().innermost}, "expected a tree"),
        ({"stacks": 3, "innermost": TREE._replace(innermost=np.array([2, 3, 3])).packed().innermost}, "site 4; the f"),
    ],
)
def test_damaged_stacks_are_named(tmp_path: Path, change: dict[str, object], words: str) -> None:
    path = written(tmp_path / "t.hst", msgspec.structs.replace(TREE.packed(), **change))
    with pytest.raises(BadInput, match=f"^{re.escape(str(path))}: .*{re.escape(words)}"):
        verify(path)


def test_sites_without_stacks_are_damage(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="the footer has 0 stacks"):
        verify(written(tmp_path / "t.hst", None))


def test_salvage_keeps_stacks_that_can_be_read(tmp_path: Path) -> None:
    path, out = written(tmp_path / "t.hst", TREE.packed()), tmp_path / "out.hst"
    with TraceReader(path) as trace:
        end = next(trace.file.frames()).end
    data = bytearray(path.read_bytes())
    data[end + 40] ^= 1  # in the second chunk; the footer is whole
    path.write_bytes(data)
    assert salvage(path, out).events == PART
    with TraceReader(out) as trace:
        [(_, site)] = trace.sited()
        assert trace.stacks() is not None
    assert np.array_equal(site, sites_of(random_chunk(EVENTS, 7, 3, live=50))[:PART])
    path.write_bytes(data[:-1])  # no trailer, hence no footer
    assert salvage(path, out).events == PART
    with TraceReader(out) as trace:
        assert not trace.header.has_sites
    assert verify(out).events == PART


def test_the_page_says_how_sites_are_stored() -> None:
    rows = [[f"{one.name}` (uint32)", ", ".join(map(str, one.ops)), one.code] for one in (SITE, FREE_SITE)]
    assert table("| further column")[1:] == rows
