"""The kernel that reads usual lines of heaptrack: equal to the reader of any line."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from import_samples import SAMPLES

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports import heaptrack, text
from heapsmith.model.trace.imports.format import About
from heapsmith.model.trace.imports.source import Source

NUMBERS = st.one_of(
    st.integers(0, 9),
    st.integers(0, 1 << 64),
    st.sampled_from([(1 << 31) - 1, 1 << 31, (1 << 40) + 1, 10**18 - 1, 10**18, (1 << 60) - 1, 1 << 60, 1 << 62]),
    st.sampled_from([(1 << 63) - 1, 1 << 63]),
)
SMALL = st.integers(0, 3)
FEW = SMALL.map(lambda number: number * 16)
"""So that the same pointers come again."""


def lines(*templates: str) -> st.SearchStrategy[bytes]:
    """Lines of templates: {n} is any number, {s} and {p} one of a few, {x} and {q} the same in hexadecimal."""

    def of(template: str) -> st.SearchStrategy[bytes]:
        fields = st.fixed_dictionaries({"n": NUMBERS, "m": NUMBERS, "s": SMALL, "p": FEW, "q": FEW})
        return fields.map(lambda values: template.format(**values).encode())

    return st.one_of(*(of(template) for template in templates))


JUNK = st.one_of(st.sampled_from([b"", b" ", b"#", b"+", b"- ", b"\xff\xfe", b"1:", b"= End"]), st.binary(max_size=12))
LINES = [
    *("+ {n:x} {s:x} {p:x}", "+ {s:x} 1 {n:x}", "- {p:x}", "- {n:x}", "c {n:x}", "c {s:x}", "t {p:x} 1", "R 2"),
    *("a {n:x} 1", "a {s:x} {n:x}", "+ {s:x}", "- {s:x}", "+ {s:x} 1", "+ {s:X}A 1 {p:x} 7", "X ./a {s}", "a 1"),
    *("t {n:x} {s:x}", "t {p:x} {s:x}", "t 1", "+ {n:x} {s:x} 0", "+ 8 {s:x} {p:x}"),
    *("x 2 /a", "m 2 /b {p:x} 0 {n:x}", "m 1 x {p:x} 0 8 40 8", "m 1 -", "m 2 /b {p:x} 0", "m x"),
    *("v 10400 3", "+  1 1 {p:x}", "- 0x{p:x}", "xX 1", "A", " - {p:x}", "c 1 2", "-"),
]
HEADS = st.sampled_from([b"v 10400 3\n", b"v 10400 3\na 8 1\na 7 2\n", b""])


def texts() -> st.SearchStrategy[bytes]:
    """Texts of heaptrack: mostly right lines, some of its sample, some that are anything."""
    known = [line for one in SAMPLES if one.name == "heaptrack" for line in one.content.split(b"\n")]
    line = st.one_of(*[lines(*LINES)] * 6, st.sampled_from(known), JUNK)
    body = st.lists(line, max_size=40).map(b"\n".join)
    return st.tuples(HEADS, body, st.sampled_from([b"", b"\n"])).map(b"".join)


def calls(read: Callable[[Source, About], Iterator[Any]], file: Path) -> tuple[list[Any], str | None, Any]:
    """The calls of a file, what is wrong behind them, and what else it tells."""
    about, rows, bad = About(), [], None
    try:
        with Source(file) as source:
            for batch in read(source, about):
                rows += list(zip(*(column.tolist() for column in batch if column is not None), strict=True))
    except BadInput as error:
        bad = str(error)
    return rows, bad, (places(about), about.command, about.inexact, about.extra)


def places(about: About) -> list[list[tuple[str, int]]]:
    """The path of the module and the offset of each frame of each stack, the innermost frame first."""
    tree = about.tree() if about.tree else None
    if tree is None:
        return []
    paths = [tree.modules[module].path if module >= 0 else "" for module in tree.module.tolist()]
    return [
        [(paths[frame], int(tree.offset[frame])) for frame in tree.path(site)]
        for site in range(1, tree.innermost.size + 1)
    ]


@contextlib.contextmanager
def pieces_of(module: Any, size: int) -> Iterator[None]:
    with mock.patch.object(module, "_PIECE_BYTES", size):
        yield


def equal(module: Any, pieces: Any, file: Path, content: bytes, size: int) -> None:
    """The kernel, as Python and compiled, reads what the reader of any line reads, in pieces of any size."""
    file.write_bytes(content)
    with mock.patch.object(module, "fast_take", return_value=None):
        expected = calls(module.read, file)
    with mock.patch.object(module, "fast_take", module.take):
        assert calls(module.read, file) == expected
    with pieces_of(pieces, size):
        assert calls(module.read, file) == expected


@pytest.mark.parametrize("examples", [12, pytest.param(400, marks=pytest.mark.big)])
def test_lines(examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(texts(), st.sampled_from([5, 40, 1 << 20]))
    def hold(content: bytes, size: int) -> None:
        equal(heaptrack, text, tmp_path / "file", content, size)

    hold()


def test_the_usual_ones_are_read_by_the_kernel(tmp_path: Path) -> None:
    """The readers of any line see few of these lines: the first of all, and so on."""
    (tmp_path / "heaptrack").write_bytes(b"v 10400 3\n" + b"+ 8 1 a0\nc 5\n- a0\nt a0 0\n" * 100)
    with mock.patch.object(text, "_other_line", wraps=text._other_line) as others:
        rows, bad, _ = calls(heaptrack.read, tmp_path / "heaptrack")
    assert bad is None
    assert len(rows) >= 200
    assert others.call_count <= 5
