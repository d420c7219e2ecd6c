"""The kernels that read usual lines and fields of imports: equal to the readers of all lines, on any text."""

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
from heapsmith.model.trace.imports import android, heaptrack, ltrace, malloc_bench, mtrace, rep, text, valgrind
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
TEMPLATES: dict[str, tuple[Any, list[str]]] = {
    "android": (
        android,
        [
            *("{s}: malloc 0x{p:x} {n}", "{s}: malloc 0x{p:x} {s} {s} {s}", "{s}: free 0x{p:x} {n} {m}"),
            *("{s}: calloc 0x{p:x} {n} {m}", "{s}: calloc 0x{p:x} {s} 12 {n} {m} 7", "{s}: thread_done 0x0"),
            *(
                "{s}: realloc 0x{p:x} 0x{q:x} {n}",
                "{s}: realloc 0x{p:X} 0x{q:x} {s} 5 6",
                "{s}: memalign 0x{p:x} {s} 8",
            ),
            *(
                "{n}: free 0x{p:x}",
                "{s}: free {p:x}",
                "{s}: free 0x{n:x}",
                "{s}: malloc  0x{p:x} {s} ",
                "0{s}: free 0x0",
            ),
            *(
                "{s}: mallocs 0x{p:x} 8",
                "{s}: free 0x{p:x} {s}",
                "{s}: free 0x{p:x} {s} 1 2 3",
                "{s}: thread_done 0x0 {n}",
            ),
        ],
    ),
    "heaptrack": (
        heaptrack,
        [
            *("+ {n:x} {s:x} {p:x}", "+ {s:x} 1 {n:x}", "- {p:x}", "- {n:x}", "c {n:x}", "c {s:x}", "t {p:x} 1", "R 2"),
            *(
                "a {n:x} 1",
                "a {s:x} {n:x}",
                "+ {s:x}",
                "- {s:x}",
                "+ {s:x} 1",
                "+ {s:X}A 1 {p:x} 7",
                "X ./a {s}",
                "a 1",
            ),
            *("t {n:x} {s:x}", "t {p:x} {s:x}", "t 1", "+ {n:x} {s:x} 0", "+ 8 {s:x} {p:x}"),
            *("x 2 /a", "m 2 /b {p:x} 0 {n:x}", "m 1 x {p:x} 0 8 40 8", "m 1 -", "m 2 /b {p:x} 0", "m x"),
            *("v 10400 3", "+  1 1 {p:x}", "- 0x{p:x}", "xX 1", "A", " - {p:x}", "c 1 2", "-"),
        ],
    ),
    "ltrace": (
        ltrace,
        [
            *(
                f"{{s}} 10:0{{s}}:0{{s}}.0000{{s}}{{s}} {call}"
                for call in (
                    "malloc({n}) = 0x{p:x}",
                    "malloc({s}, 1, 2)    = 0x{p:x}",
                    "free(0x{p:x}) = <void>",
                    "calloc({n}, {m}) = 0x{p:x}",
                    "calloc({s}, {s}, 7) = 0x{q:x}",
                    "realloc(0x{p:x}, {n}) = 0x{q:x}",
                    "realloc(0x{p:x}, {s}, 1) = 0x{p:X}",
                    "_Znwm({s}, 1) = 0x{p:x}",
                    "_ZdaPvm(0x{p:x}, 8) = 0",
                    "malloc({s} <unfinished ...>",
                    "<... malloc resumed> ) = 0x{p:x}",
                    "free(0x{n:x} <unfinished ...>",
                    "memalign(16, {s}) = 0x{p:x}",
                    "realloc(nil, 3) = 0x{p:x}",
                    "malloc({s}) = 0x{p:x} ",
                    "+++ exited (status 0) +++",
                    "malloc(8 ) = 0x10",
                    "malloc(8, (2)) = 0x10",
                    "free(0x{p:x})= 0",
                    "free(0x{p:x}) =",
                    "puts() = 0x1",
                )
            ),
            *(
                "{n} 23:59:59.99999{s} malloc(8) = 0x{p:x}",
                "{s}  00:00:00.000000 free(0x{p:x}) = 0",
                "{s} 10:00:00 free(0x10) = 0",
            ),
            *(
                "malloc(8) = 0x{p:x}",
                "[pid {s}] malloc(8) = 0x{q:x}",
                "{s} 10:00:",
                "{s} 1a:00:00.000000 free(0x10) = 0",
                "{s} 10:00:00.00000 x",
            ),
        ],
    ),
    "mtrace": (
        mtrace,
        [
            *("@ ./a:[0x12] + 0x{p:x} 0x{n:x}", "+ 0x{p:x} 0", "- 0x{p:x}", "@ a - 0x{n:x}", "< 0x{p:x}"),
            *(
                "> 0x{p:x} 0x{n:x}",
                "< 0x{p:x}\n> 0x{q:x} 0x{s:x}",
                "! 0x{p:x} 0x{n:x}",
                "+ (nil) 0x{s:x}",
                "> (nil) 0x1",
            ),
            *(
                "@ a b:[0x1] + 0x{p:x} 0x{s:x}",
                "@ a:(f+0x1)[0x{p:x}] + 0x{q:x} 0x{s:x}",
                "@ [0x{p:x}] < 0x{q:x}\n@ [0x{p:x}] > 0x{p:x} 0x{s:x}",
                "@ a[b:[0x{n:x}] + 0x{p:x} 0x1",
                "@ a:[0x{p:x}] - 0x{q:x}",
                "@ a + 0x1 0x2 + 0x{p:x} 0x3",
                "- 0x{p:X}F",
                "- 0x0",
                "= Start",
                "+ 0x{p:x}",
            ),
        ],
    ),
    "valgrind": (
        valgrind,
        [
            *("--7-- malloc({n}) = 0x{p:X}", "--7-- calloc({n},{m}) = 0x{p:X}", "--7-- calloc({s},{s}) = 0x{p:X}"),
            *(
                "--7-- realloc(0x{p:X},{n}) = 0x{q:X}",
                "--7-- realloc(0x0,{s})malloc({s}) = 0x{p:X}",
                "--7-- free(0x{p:X})",
            ),
            *("--7-- _Znwm({s}) = 0x{p:X}", "--7-- _ZdlPv(0x{p:X})", "--7-- _ZnwmX(size {s}, al 16) = 0x{p:X}"),
            *("--00:00:0{s}:01.0{s}7 7-- malloc({s}) = 0x{p:X}", "--00:00:0{s}:01.123 7-- free(0x{p:x})", "==7== x"),
            *("--00:00:00:1.1234 7-- free(0x{p:X})", "--0{s}:00:00:00.12 7-- free(0x{p:X})", "--{n}-- free(0x{p:X})"),
            *(
                "--7-- memalign(al {s}, size 5) = 0x{p:X}",
                "--7-- free({s})",
                "--7-- _Zn(1) = 0x{p:X}",
                "==7== Command: a b",
            ),
            *("--7-- malloc(1) = 0x{p:X} ", "--7--  free(0x{p:X})", "--7-- mallocs({s}) = 0x1", "--7-- _Zdx(0x{p:X})"),
            *("--7-- malloc({s})", "--7-- malloc(99)Argument 'size' has a fishy value", "--07-- free(0x{n:X})"),
        ],
    ),
    "rep": (
        rep,
        [
            "a {s} {n}",
            "r {s} {n}",
            "r {s} {s}",
            "f {s}",
            "f {n}",
            "a {s}",
            "f {s} 1",
            "x 1",
            " f {s}",
            "a  {s} 3",
            "a 0{s} 3",
        ],
    ),
}
HEADS = {"heaptrack": st.sampled_from([b"v 10400 3\n", b"v 10400 3\na 8 1\na 7 2\n", b""])}
HEADS["rep"] = st.sampled_from([b"1\n4\n9\n1\n", b"1\n4\n30\n1\n", b"1\n 4\n\n3\n1\n", b"1\n4\n"])


def texts(name: str) -> st.SearchStrategy[bytes]:
    """Texts of a format: mostly right lines, some of its sample, some that are anything."""
    (_, templates), samples = (
        TEMPLATES[name],
        [one.content for one in SAMPLES if one.name == name and name != "android"],
    )
    known = [line for sample in samples for line in sample.split(b"\n")] or [b"1: malloc 0x10 8"]
    line = st.one_of(*[lines(*templates)] * 6, st.sampled_from(known), JUNK)
    body = st.lists(line, max_size=40).map(b"\n".join)
    return st.tuples(HEADS.get(name, st.just(b"")), body, st.sampled_from([b"", b"\n"])).map(b"".join)


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
@pytest.mark.parametrize("name", TEMPLATES)
def test_lines(name: str, examples: int, tmp_path: Path) -> None:
    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(texts(name), st.sampled_from([5, 40, 1 << 20]))
    def hold(content: bytes, size: int) -> None:
        equal(TEMPLATES[name][0], text, tmp_path / "file", content, size)

    hold()


def message(rows: list[tuple[str, dict[str, int]]], most: int | None) -> bytes:
    """A message of malloc-bench by the generated class."""
    made = malloc_bench.tracefile()()
    for kind, fields in rows:
        one = getattr(made.lines.add(), kind)
        one.SetInParent()
        for field, value in fields.items():
            if field in one.DESCRIPTOR.fields_by_name:
                setattr(one, field, value)
    if most is not None:
        made.max_simultaneous_allocs = most
    return bytes(made.SerializeToString())


NAMES = ("result_id", "input_id", "size", "alignment", "count", "size_hint", "alignment_hint")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["malloc", "free", "realloc", "calloc"]),
        st.dictionaries(st.sampled_from(NAMES), NUMBERS.filter(lambda number: number < 1 << 64)),
    ),
    max_size=20,
)


@pytest.mark.parametrize("examples", [20, pytest.param(1000, marks=pytest.mark.big)])
def test_fields(examples: int, tmp_path: Path) -> None:
    whole = st.tuples(ROWS, st.none() | NUMBERS.filter(lambda number: number < 1 << 64))

    @settings(max_examples=examples, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(
        st.lists(whole, min_size=1, max_size=3),
        st.lists(st.tuples(st.integers(0, 400), st.binary(max_size=3)), max_size=1),
        st.sampled_from([5, 200, 1 << 20]),
    )
    def hold(parts: list[tuple[Any, int | None]], damage: list[tuple[int, bytes]], size: int) -> None:
        content = b"".join(message(*part) for part in parts)
        for at, put in damage:
            content = content[:at] + put + content[at + 1 :]
        equal(malloc_bench, malloc_bench, tmp_path / "file", content, size)

    hold()


def test_the_usual_ones_are_read_by_the_kernels(tmp_path: Path) -> None:
    """The readers of any line see few of these lines: the first of a thread, of a process, and so on."""
    usual = {
        "android": b"1: malloc 0xa0 8 1 2\n1: realloc 0xb0 0xa0 9 2 3\n1: calloc 0xc0 2 3 3 4\n1: free 0xb0 5 6 7\n",
        "heaptrack": b"+ 8 1 a0\nc 5\n- a0\nt a0 0\n",
        "ltrace": b"7 10:00:00.000001 malloc(8)   = 0xa0\n7 10:00:00.000002 realloc(0xa0, 9, 1) = 0xb0\n"
        b"7 10:00:00.000003 free(0xb0) = <void>\n7 10:00:00.000004 _Znwm(9, 8) = 0xb0\n"
        b"7 10:00:00.000005 calloc(2, 3) = 0xa0\n"
        b"7 10:00:00.000006 _ZdlPvm(0xb0, 9) = 0\n7 10:00:00.000007 free(0xa0) = <void>\n",
        "mtrace": b"@ ./a:[0x1] + 0xa0 0x8\n@ ./a:[0x1] < 0xa0\n@ ./a:[0x1] > 0xb0 0x9\n@ ./a:[0x1] - 0xb0\n",
        "valgrind": b"--7-- malloc(8) = 0xA0\n--7-- realloc(0xA0,9) = 0xB0\n--7-- free(0xB0)\n--7-- _Znwm(7) = 0xA0\n"
        b"--7-- _ZdlPv(0xA0)\n--7-- calloc(2,3) = 0xA0\n--7-- free(0xA0)\n",
        "rep": b"a 0 8\nr 0 9\nf 0\n",
    }
    heads = {"heaptrack": b"v 10400 3\n", "rep": b"1\n1\n300\n1\n"}
    for name, part in usual.items():
        (tmp_path / name).write_bytes(heads.get(name, b"") + part * 100)
        with mock.patch.object(text, "_other_line", wraps=text._other_line) as others:
            rows, bad, _ = calls(TEMPLATES[name][0].read, tmp_path / name)
        assert bad is None
        assert len(rows) >= 200
        assert others.call_count <= 5, name
    content = message([("malloc", {"result_id": 1, "size": 1 << 40}), ("free", {"input_id": 1})] * 100, 7)
    (tmp_path / "message").write_bytes(content)
    with mock.patch.object(malloc_bench._Reader, "_line", autospec=True) as others:
        assert len(calls(malloc_bench.read, tmp_path / "message")[0]) == 200
    assert others.call_count == 0
