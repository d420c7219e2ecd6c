"""An import reads every line or says which one it cannot read, and no import writes a trace without events."""

import itertools
import os
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer
from import_samples import REP, SAMPLES
from test_imports import events
from test_synth_profiles import DHAT, GPERFTOOLS, JEMALLOC

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.formats import FORMATS, import_trace

CALLS = [
    ("malloc(8)", "0xa0", "malloc 0 8 -"),
    ('printf("%d) = 0x1 (\\n", 3)', "3", None),
    ("calloc(3, 4, 1, 2)", "0xb0", "calloc 1 12 -"),
    ("realloc(0xa0, 20)", "0xa0", "realloc 0 20 -"),
    ("_ZdlPvm(0xb0, 12)", "<void>", "free 1 - -"),
    ("_Znwm(40, 1)", "0xc0", "malloc 1 40 -"),
    ("free(0xa0)", "<void>", "free 0 - -"),
]
"""Calls with their results, and what they become."""
STEP_US = 1_500_000
TIMES: dict[str, Callable[[int], str]] = {
    "": lambda _: "",
    "-t": lambda us: f"10:00:{us // 10**6:02} ",
    "-tt": lambda us: f"10:00:{us // 10**6:02}.{us % 10**6:06} ",
    "-ttt": lambda us: f"{1_700_000_000 + us // 10**6}.{us % 10**6:06} ",
    "-r": lambda us: f"{(us > 0) * STEP_US // 10**6:3}.{(us > 0) * STEP_US % 10**6:06} ",
}


@pytest.mark.parametrize("time", TIMES)
def test_ltrace_in_all_its_forms(tmp_path: Path, time: str) -> None:
    """With and without -f, -i, -n, -T and a result at once or later: the events and their times are the same."""
    step_ns = {"": 0, "-t": 1_000_000_000}.get(time, 1000 * STEP_US)
    forms = itertools.product(("", "42 ", "[pid 42] "), ("", "[0x55d0] "), ("", "    "), ("", " <0.000107>"), (0, 1))
    for process, place, indent, lasted, is_apart in forms:
        begins = [f"{process}{TIMES[time](STEP_US * at)}" for at in range(len(CALLS) + 1)]
        lines, expected = [], []
        for at, (call, result, event) in enumerate(CALLS):
            begin, name = f"{begins[at]}{place}{indent}", call.partition("(")[0]
            if is_apart:
                later = f"{process}{TIMES[time](STEP_US * at) if time != '-r' else '  0.000000 '}{place}"
                lines += [f"{begin}{call[:-1]} <unfinished ...>", f"{later}<... {name} resumed> )   = {result}{lasted}"]
            else:
                lines.append(f"{begin}{call}      = {result}{lasted}")
            if event:
                since = {"-t": STEP_US * at // 10**6 * 10**9}.get(time, step_ns * at)
                expected.append(f"{since} 0 {event}")
        lines.append(f"{begins[-1]}{place}+++ exited (status 0) +++")
        (tmp_path / "file").write_text("\n".join(lines) + "\n")
        for name_of in (None, "ltrace"):
            import_trace(tmp_path / "file", tmp_path / "out.hst", name_of)
            assert events(tmp_path / "out.hst")[:-1] == expected, lines


def test_ltrace_shows_a_call_and_those_that_make_it(tmp_path: Path) -> None:
    """-C, -l and -x: what operator new and malloc ask for is one block. An operator new that throws is none."""
    (tmp_path / "file").write_text(
        "1 SYS_brk(0) = 0x55\n"
        "1 operator new(unsigned long)(40, 1 <unfinished ...>\n"
        "1 libstdc++.so.6->malloc(40 <unfinished ...>\n"
        "1 malloc@libc.so.6(40) = 0xa0\n"
        "1 <... malloc resumed> ) = 0xa0\n"
        "1 <... operator new(unsigned long) resumed> ) = 0xa0\n"
        "1 malloc(7 <unfinished ...>\n"
        "1 malloc@libc.so.6(7) = 0xb0\n"
        "1 SYS_mmap(0, 4096) = 0x7000\n"
        "1 <... malloc resumed> ) = 0xb0\n"
        "1 _Znam(0x4000000000000000, 33 <unfinished ...>\n"
        "1 free(0xb0) = <void>\n"
        "1 __cxa_begin_catch(0xe0) = 0xe0\n"
        "1 _Znam(0x4000000000000000, 33 <unfinished ...>\n"
        "1 __cxa_begin_catch(0xe0) = 0xe0\n"
        "1 malloc(9) = 0xb0\n"
        "1 operator delete(void*, unsigned long)(0xa0, 40 <unfinished ...>\n"
        "1 free@libc.so.6(0xa0) = <void>\n"
        "1 <... operator delete(void*, unsigned long) resumed> ) = <void>\n"
        "1 exit_group(0 <no return ...>\n"
        "--- SIGCHLD (Child exited) ---\n"
        "1 +++ exited (status 0) +++\n"
    )
    footer = import_trace(tmp_path / "file", tmp_path / "out.hst")
    births = ["malloc 0 40 -", "malloc 1 7 -", "free 1 - -", "malloc 1 9 -", "free 0 - -", "thread_exit - - -"]
    assert events(tmp_path / "out.hst") == [f"0 0 {one}" for one in births]
    assert footer.foreign_frees == 0


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        ("valgrind", b"==7== Invalid read\n==00:00:00:01.250 7== x\n--7:1: syswrap x\n**7** text of the program\n"),
        ("valgrind", b"{\n   <insert_a_suppression_name_here>\n   Memcheck:Leak\n   fun:main\n   ...\n}\n"),
        ("valgrind", b"SYSCALL[7,1](12) sys_brk ( 0x0 ) --> [pre-success] Success(0x1)\n"),
        ("heaptrack", b"I 1000 5e2990\nA\nS 3 leak:x\nR 20\n# strings: 1\n\n"),
    ],
)
def test_known_noise_is_passed_over(tmp_path: Path, name: str, noise: bytes) -> None:
    sample = next(sample for sample in SAMPLES if sample.name == name)
    head, newline, rest = sample.content.partition(b"\n")
    (tmp_path / "file").write_bytes(head + newline + noise + rest)
    import_trace(tmp_path / "file", tmp_path / "out.hst")
    assert events(tmp_path / "out.hst") == sample.events


TEXTS = [
    sample for sample in SAMPLES if sample.name in ("android", "mtrace", "valgrind", "ltrace", "heaptrack", "jsonl")
]
UNKNOWN = (b"hello, world", b"root:x:0:0:root:/root:/bin/bash", b'{"a": 1}', b"\x1b[31m\xff\xfe", b"malloc(8)")


@pytest.mark.parametrize("line", UNKNOWN)
@pytest.mark.parametrize("sample", TEXTS, ids=lambda sample: sample.name)
def test_an_unknown_line_is_an_error(tmp_path: Path, sample: object, line: bytes) -> None:
    """In the middle of any text, where the kernels have read lines before it."""
    assert isinstance(sample, tuple)
    content: bytes = sample[1]
    if content.startswith(b"PK"):
        content = b"1: malloc 0xa0 8\n1: free 0xa0\n"
    lines = content.splitlines()
    place = len(lines) // 2
    (tmp_path / "file").write_bytes(b"\n".join([*lines[:place], line, *lines[place:]]) + b"\n")
    with pytest.raises(BadInput, match=rf"^{re.escape(str(tmp_path))}/file: line {place + 1}: "):
        import_trace(tmp_path / "file", tmp_path / "out.hst", str(sample[0]))
    assert os.listdir(tmp_path) == ["file"]


OTHERS = {
    "passwd": b"root:x:0:0:root:/root:/bin/bash\ndaemon:x:1:1:daemon:/usr/sbin:/usr/sbin/nologin\n",
    "empty": b"",
    "blank": b"\n\n  \n",
    "garbage": random.Random(5).randbytes(5000),
    "zeros": bytes(3000),
    "prose": b"This is a text.\nIt has (brackets) = signs.\n",
    "strace": b'brk(NULL) = 0x55\nopenat(AT_FDCWD, "x") = 3\n',
    "header": b"op,pointer,size\n",
    "table": b"a,b\n1,2\n",
    "json": b'{"a": 1}\n',
    "long": b"x" * 70_000 + b"\n",
    "dhat": DHAT,
    "jemalloc": JEMALLOC,
    "gperftools": GPERFTOOLS,
}


@pytest.mark.parametrize("name", [None, *FORMATS])
def test_another_kind_of_file_is_one_line(tmp_path: Path, name: str | None) -> None:
    """Each format's reader, and the search for the format, with every other format's file and with no format's."""
    files = {f"{sample.name}-{number}": sample.content for number, sample in enumerate(SAMPLES)} | OTHERS
    for other, content in files.items():
        if other.rpartition("-")[0] in ([name] if name else FORMATS):
            continue
        file = tmp_path / other
        file.write_bytes(content)
        with pytest.raises(BadInput, match=f"^{re.escape(str(file))}: ") as failed:
            import_trace(file, tmp_path / "out.hst", name)
        assert "\n" not in str(failed.value)
        assert len(str(failed.value)) < 400 + len(str(file)), other
        file.unlink()
        assert os.listdir(tmp_path) == [], other
    with pytest.raises(BadInput, match="cannot read the file: Is a directory"):
        import_trace(tmp_path, tmp_path / "out.hst", name)


def test_the_command_says_so(call: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(OTHERS["passwd"])
    for options in ([], ["--from", "valgrind"], ["--from", "ltrace"], ["--from", "heaptrack"]):
        answer = call("trace", "import", *options, tmp_path / "a b", "-o", tmp_path / "out.hst")
        assert (answer.status, answer.out) == (2, "")
        assert answer.err.startswith(f"heapsmith: {tmp_path / 'a b'}: ")
        assert answer.err.count("\n") == 1
        assert os.listdir(tmp_path) == ["a b"]


@pytest.mark.parametrize("keep", range(1, len(REP) - 1, 7))
def test_a_text_that_is_cut_off(tmp_path: Path, keep: int) -> None:
    """rep says how many lines it has, so that any part of it is an error."""
    (tmp_path / "file").write_bytes(REP[:keep])
    with pytest.raises(BadInput, match=r"file: (?:line \d+|ends|has no)"):
        import_trace(tmp_path / "file", tmp_path / "out.hst", "rep")
    assert os.listdir(tmp_path) == ["file"]
