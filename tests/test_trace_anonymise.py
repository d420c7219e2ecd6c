"""Anonymise: no byte of the result has a planted name, and simulations cannot tell it from the trace."""

import base64
import io
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import zstandard
from conftest import PROGRAM, Answer
from covering import covering_designs
from hypothesis import given
from hypothesis import strategies as st
from test_trace_stacks import TREE
from traces import random_chunk, random_trace

from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.anonymise import SMALL_BYTES, anonymise, rounded
from heapsmith.model.trace.events import SIZED, WITH_SITE, Chunk, Op, op_mask
from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.reader import TraceReader, TraceWriter, verify
from heapsmith.model.trace.stacks import Module

SECRET = "n0b0dy-may-read-this"
BUILD_ID = "deadbeef" * 5
PLACE = 0x5EC2E75EC2E7
"""An offset that tells the build of a program as well as its name does."""


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A trace with a secret in every place of the format that holds text, and a place in code."""
    path = tmp_path / "secret.hst"
    chunk = random_chunk(2000, 3, 2, max_size=9000)
    site = np.where(op_mask(WITH_SITE)[chunk.op], 1 + np.arange(2000) % 4, 0).astype(np.uint32)
    tree = TREE._replace(
        modules=[Module(f"/home/{SECRET}/bin", BUILD_ID), Module(SECRET, None)],
        offset=np.array([PLACE, 1, 1, 1, PLACE]),
    )
    with TraceWriter(path, command=[SECRET, f"--key={SECRET}"], source=SECRET, sites=True) as writer:
        writer.append(chunk, site)
        writer.close(
            {
                "drops": 3,
                "foreign_frees": 4,
                "salvaged": f"/home/{SECRET}/t.hst: damaged",
                "samples": Samples([], [(0, 4096)], 4096, [(5, 4)]),
                "stacks": tree.packed(),
                "perf_map": [[0, 16, SECRET]],
                "inexact": [SECRET],
                "host": {SECRET: [SECRET]},
            }
        )
    return path


def pieces(path: Path) -> Iterator[bytes]:
    """All bytes of a trace: the file itself, and what each compressed part of it holds."""
    data = path.read_bytes()
    yield data
    at = data.find(zstandard.FRAME_HEADER)
    while at >= 0:
        yield unpacked(data[at:])
        at = data.find(zstandard.FRAME_HEADER, at + 1)
    footer = json.loads(data[data.rindex(b'{"events"') : -16])
    for text in (footer["stacks"] or {}).values():
        if isinstance(text, str):
            section = base64.b64decode(text)
            yield section
            yield unpacked(section[5:])


def unpacked(data: bytes) -> bytes:
    """The content of the zstd frame at the beginning of `data`."""
    return zstandard.ZstdDecompressor().decompressobj().decompress(data)


def found(path: Path) -> list[bytes]:
    """Which of the secrets are in the file, as text or in Base64 at any place."""
    texts = [text.encode() for text in (SECRET, BUILD_ID[:16])] + [bytes.fromhex(BUILD_ID)]
    coded = [base64.b64encode(b"x" * skip + text)[4:-4] for text in texts for skip in range(3)]
    return [text for text in (*texts, *coded) if any(text in piece for piece in pieces(path))]


@pytest.mark.parametrize("sites", [True, False])
@pytest.mark.parametrize("round_sizes", [True, False])
def test_no_byte_has_a_secret(secret: Path, tmp_path: Path, sites: bool, round_sizes: bool) -> None:
    assert len(found(secret)) >= 2  # the search would find them
    out = tmp_path / "out.hst"
    made = anonymise(secret, out, sites=sites, round_sizes=round_sizes)
    assert found(out) == []
    assert verify(out).events == made.events == 2000
    assert made.stacks == (4 if sites else 0)
    assert (made.sizes_rounded > 0) == round_sizes
    with TraceReader(secret) as old, TraceReader(out) as new:
        assert (new.header.command, new.header.has_sites, new.footer.extra) == ([], sites, {})
        assert (new.footer.drops, new.footer.foreign_frees, new.footer.samples) == (3, 4, old.footer.samples)
        assert new.footer.salvaged is not None
        for (a, a_site), (b, b_site) in zip(old.sited(), new.sited(), strict=True):
            same = [name for name in a._fields if np.array_equal(getattr(a, name), getattr(b, name))]
            assert set(a._fields) - set(same) == ({"size"} if round_sizes else set())
            assert np.array_equal(b_site, a_site if sites else np.zeros_like(a_site))


def test_stacks_keep_their_structure_as_numbers(secret: Path, tmp_path: Path) -> None:
    anonymise(secret, tmp_path / "out.hst")
    with TraceReader(tmp_path / "out.hst") as reader:
        tree = reader.stacks()
    assert tree is not None
    assert [(module.path, module.build_id) for module in tree.modules] == [("0", f"{0:040x}"), ("1", None)]
    assert [tree.path(site) for site in range(5)] == [[], [2, 1, 0], [3, 1, 0], [3, 1, 0], [4]]
    # Frames 1 and 3 lie at one place; those in other modules do not, whatever their offsets were.
    assert tree.module.tolist() == TREE.module.tolist()
    assert tree.offset.tolist() == [0, 1, 2, 1, 3]


BYTES_ASKED = {"asked_lines", "cleared_bytes", "copied_bytes"}
"""Work that is as long as the sizes asked for."""


def figures(trace: Path, designs: list[Design]) -> list[Any]:
    """All that a simulation of the machine tells, but for the bytes asked for."""
    rows = simulate(trace, designs).rows
    work = [
        sorted(row.statistics.work.items() - {(name, row.statistics.work[name]) for name in BYTES_ASKED})
        for row in rows
    ]
    return [
        (row.design, row.counters, row.rates, row.committed_peak, *did) for row, did in zip(rows, work, strict=True)
    ]


@pytest.mark.thorough
def test_no_built_in_design_tells_it_from_the_trace(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 5000, 11, 3, max_size=90_000, cross_thread=0.2, realloc=0.3, aligned=0.1)
    anonymise(trace, tmp_path / "plain.hst")
    made = anonymise(trace, tmp_path / "rounded.hst", round_sizes=True)
    assert made.sizes_rounded > 1000
    designs = [load(name) for name in builtin_names()]
    before = simulate(trace, designs).rows
    for old, new in zip(before, simulate(tmp_path / "plain.hst", designs).rows, strict=True):
        assert (old.counters, old.statistics, old.rates) == (new.counters, new.statistics, new.rates)
    without = [design for design in designs if design.sampling is None]  # samples go by the bytes asked for
    assert figures(trace, without) == figures(tmp_path / "rounded.hst", without)


@pytest.mark.big
@pytest.mark.parametrize("seed", range(4))
def test_no_legal_pair_of_policies_tells_it_from_the_trace(tmp_path: Path, seed: int) -> None:
    shape = {"cross_thread": 0.2, "realloc": 0.4, "aligned": 0.1}
    trace = random_trace(tmp_path / "t.hst", 6000, seed, 3, max_size=(600, 9000, 300_000, 5_000_000)[seed], **shape)
    anonymise(trace, tmp_path / "rounded.hst", round_sizes=True)
    designs = [design for design in covering_designs() if design.sampling is None]
    assert len(designs) > 20
    assert figures(trace, designs) == figures(tmp_path / "rounded.hst", designs)


@given(st.lists(st.integers(1, 2**63 - 1) | st.integers(1, 5000) | st.integers(SMALL_BYTES - 9000, SMALL_BYTES + 9000)))
def test_sizes_are_rounded_up_within_what_no_design_tells_apart(sizes: list[int]) -> None:
    chunk = Chunk.of(*[[number] * len(sizes) for number in (Op.REALLOC, 0, 0)], sizes, *[[0] * len(sizes)] * 2)
    for size, found in zip(sizes, rounded(chunk).tolist(), strict=True):
        step, ends = (8, (0, 7)) if size <= SMALL_BYTES else (4096, (0, 4088))
        assert 0 <= found - size < step
        assert not [end for end in range(size, found) if end % step in ends]  # requests of at most `end` bytes
        if size <= SMALL_BYTES:
            assert not [half for half in range(size + 1, found + 1) if half % 4 == 0]  # of at least half a block
    again = chunk._replace(size=rounded(chunk))
    assert np.array_equal(rounded(again), again.size)


def test_sizes_of_other_operations_stay_nothing() -> None:
    chunk = random_chunk(500, 4)
    assert not rounded(chunk)[~op_mask(SIZED)[chunk.op]].any()


def test_through_standard_input_and_output(
    call: Callable[..., Answer], secret: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with secret.open("rb") as file, monkeypatch.context() as patch:
        patch.setattr(sys, "stdin", io.TextIOWrapper(file))
        assert call("trace", "anonymise", "-", "-o", tmp_path / "file.hst", "--json").status == 0
    assert verify(tmp_path / "file.hst").events == 2000


@pytest.mark.big
def test_to_standard_output_of_a_process(secret: Path, tmp_path: Path) -> None:
    with (tmp_path / "piped.hst").open("wb") as out, secret.open("rb") as given:
        command = [*PROGRAM, "trace", "anonymise", "-", "-o", "-", "--json"]
        done = subprocess.run(command, stdin=given, stdout=out, stderr=subprocess.PIPE, check=True)
    assert json.loads(done.stderr)["events"] == 2000
    assert found(tmp_path / "piped.hst") == []
    assert verify(tmp_path / "piped.hst").events == 2000
