"""Small files made by hand of the formats that can be imported, the events that they become, and damage to them."""

import gzip
import importlib.util
import io
import json
import os
import random
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import import_records
import pytest

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.reader import verify

lz4 = pytest.importorskip("lz4", reason="the files of memray and bytehound are packed with lz4")
pytest.importorskip("lz4.frame")


class Sample(NamedTuple):
    """A file and its events as `trace print` writes them, without their numbers."""

    name: str
    content: bytes
    events: list[str]


def zipped(content: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("one.txt", content)
    return out.getvalue()


def _parquet() -> bytes:
    if importlib.util.find_spec("pyarrow") is None:
        return b""
    import pyarrow as pa
    from pyarrow.parquet import write_table

    rows = [json.loads(line) for line in JSON_LINES.splitlines()]
    for row in rows:
        row["pointer"], row["old_pointer"] = int(str(row.get("pointer", 0)), 0), int(str(row.get("old_pointer", 0)), 0)
    out = io.BytesIO()
    write_table(pa.Table.from_pylist(rows, schema=_parquet_schema(pa)), out)
    return out.getvalue()


def _parquet_schema(pa: Any) -> Any:
    names = {"op": pa.string(), "thread": pa.uint32(), "pointer": pa.uint64(), "old_pointer": pa.uint64()}
    return pa.schema(names | {"size": pa.int32(), "alignment": pa.int32(), "time_ns": pa.int64()})


def _line(kind: int, *fields: tuple[int, int]) -> bytes:
    """A line of malloc-bench's message: numbers under 128 and their fields."""
    call = b"".join(bytes([field << 3, value]) for field, value in fields)
    line = bytes([kind << 3 | 2, len(call)]) + call
    return bytes([0x0A, len(line)]) + line


REP = b"100\n2\n5\n1\na 0 8\na 1 16\nr 0 24\nf 0\nf 1\n"
MALLOC_BENCH = b"".join(
    [
        _line(1, (1, 0), (2, 8)),
        _line(4, (1, 1), (2, 3), (3, 4)),
        _line(3, (1, 2), (2, 0), (3, 20)),
        _line(2),  # free(NULL)
        _line(1, (1, 0), (2, 7), (3, 64)),
        _line(2, (1, 0), (2, 7), (3, 64)),
        _line(3, (1, 5), (3, 9)),  # realloc(NULL, 9)
        _line(2, (1, 2)),
        b"\x10\x03",
    ]
)
ANDROID = b"""\
12: malloc 0xa0 8 1000 1010
7: calloc 0xb0 3 4 2000 2010
12: realloc 0xc0 0xa0 20 3000 3010
7: memalign 0xd0 64 7 3500 3510
12: free 0xb0 4000 4010 12
12: free 0x0 4000 4010
7: free 0xee 4500 4510
7: thread_done 0x0 5000
7: malloc 0xe0 9 6000 6010
"""
CSV = b"""\
op,thread,pointer,old_pointer,size,alignment,time_ns,site
thread_start,12,,,,,100,
malloc,12,0xa0,,8,,100,main
calloc,7,0xb0,,12,,200,
thread_start,7,,,,,200,
realloc,12,0xc0,0xa0,20,,300,
aligned,7,208,,7,64,400,
free,12,0xb0,,,,500,
free_sized,12,208,,7,64,550,
free,12,0xee,,,,600,
thread_exit,7,,,,,700,
"""
JSON_LINES = b"""\
{"op": "thread_start", "thread": 12, "time_ns": 100}
{"op": "malloc", "thread": 12, "pointer": "0xa0", "size": 8, "time_ns": 100, "site": "main"}
{"op": "calloc", "thread": 7, "pointer": "0xb0", "size": 12, "time_ns": 200}
{"op": "thread_start", "thread": 7, "time_ns": 200}
{"op": "realloc", "thread": 12, "pointer": "0xc0", "old_pointer": "0xa0", "size": 20, "time_ns": 300}
{"op": "aligned", "thread": 7, "pointer": 208, "size": 7, "alignment": 64, "time_ns": 400}
{"op": "free", "thread": 12, "pointer": "0xb0", "time_ns": 500}
{"op": "free_sized", "thread": 12, "pointer": 208, "size": 7, "alignment": 64, "time_ns": 550}
{"op": "free", "thread": 12, "pointer": "0xee", "time_ns": 600}
{"op": "thread_exit", "thread": 7, "time_ns": 700}
"""
HEAPTRACK = b"""\
v 10400 3
x 3 /ab
X ./ab 1
I 1000 5e2990
t 7fe46c96db9f 0
+ 8 1 a0
c a
+ c 1 b0
- a0
+ 14 2 c0
- b0
- ee
R 20
"""
INTERPRETED = b"""\
v 10400 3
X ./ab 1
s 4 main
i 7f634e9ceb9f 1
a 8 1
+ 0
c a
a c 1
+ 1
+ 0
- 0
a 14 2
+ 2
- 1
- 0
# strings: 1
"""
TABLE_EVENTS = [
    "0 0 thread_start - - -",
    "0 0 malloc 0 8 -",
    "100 1 calloc 1 12 -",
    "200 0 realloc 0 20 -",
    "300 1 aligned 2 7 64",
    "400 0 free 1 - -",
    "450 0 free_sized 2 7 64",
    "600 1 thread_exit - - -",
]
MTRACE = b"""\
= Start
@ ./a b:[0x12] + 0xa0 0x8
@ ./a b:(main+0x12)[0x12] < 0xa0
@ ./a b:(main+0x12)[0x12] > 0xb0 0x14
@ ./a b:[0x12] ! 0xb0 0xfffffffffffe7960
@ ./a b:[0x12] + (nil) 0xfffffffffffe7960
+ 0xc0 0
- 0xb0
- 0xee
= End
"""
VALGRIND = b"""\
==7== Command: ./program 1
--7-- malloc(8) = 0xA0
--7-- realloc(0x0,24)malloc(24) = 0xB0
--7-- calloc(3,4) = 0xC0
--7-- realloc(0xA0,20) = 0xD0
--7-- _ZnwmSt11align_val_t(size 64, al 128) = 0xE0
--7-- _ZdlPvmSt11align_val_t(0xE0)
--7-- memalign(al 32, size 5) = 0xE0
--7-- malloc(18446744073709451616)Argument 'size' of function malloc has a fishy (possibly negative) value: -100000
--7--  = 0x0
--7-- malloc_usable_size(0xB0) = 24
--7-- realloc(0xB0,0)free(0xB0)
--7--  = 0
==7== HEAP SUMMARY:
--7-- free(0x0)
"""
LTRACE = b"""\
12 23:59:59.999990 malloc(8) = 0xa0
13 23:59:59.999991 program->calloc(3, 4 <unfinished ...>
12 23:59:59.999992 realloc(0xa0, 20, 1, 2) = 0xb0
13 23:59:59.999995 <... calloc resumed> ) = 0xc0
12 23:59:59.999996 strlen("x(y)") = 4
12 23:59:59.999997 _Znwm(40, 1, 2, 3) = 0xd0
12 23:59:59.999998 malloc(18446744073709451616) = 0
12 00:00:00.000000 _ZdlPvm(0xd0, 40, 2, 3) = 0
12 00:00:00.000001 aligned_alloc(32, 64) = 0xd0
12 00:00:00.000002 free(0xb0 <unfinished ...>
13 00:00:00.000003 +++ exited (status 0) +++
12 00:00:00.000004 <... free resumed> ) = <void>
12 00:00:00.000005 posix_memalign(0x7ffd, 64, 100) = 0
12 00:00:00.000006 SIGCHLD (Child exited)
"""
MEMRAY = import_records.memray(
    [
        *(("switch", 12), ("allocation", 6, 0xA0, 8), ("push", 300, 2, 1), ("push", 300, 4, 0)),
        ("code", 300, b"main", b"a.py", 7, bytes(range(128, 228))),
        ("allocation", 14, 0x5000, 4096),
        *(("switch", 7), ("memory", 1000, 10), ("allocation", 8, 0xB0, 12), ("object", 1, 0xC0), ("maps",)),
        *(("allocation", 5, 0xA0, 0), ("allocation", 7, 0xC0, 20), ("push", 301, -1, 1), ("push", 300, 4, 1)),
        *(("pop", 1), ("name",), ("native",), ("object", 0, 0xC0)),
        *(("allocation", 9, 0xD0, 7), ("allocation", 5, 0xEE0, 0), ("allocation", 5, 0xB0, 0)),
    ],
    native=True,
)
BYTEHOUND = import_records.bytehound(
    [
        *((kind,) for kind in import_records.BYTEHOUND_OTHERS),
        ("file64", b"/proc/self/maps", b"1000-3000 r-xp 00000200 fe:01 77    /a b\n3000-4000 r--p 00000000 00:00 0\n"),
        *(("stack", 5, [0x1011, 0x2011, 0x9]), ("part", 6, 12, 0xFFFFFFFF, [0x1022]), ("part32", 7, 12, 1, [0x1033])),
        *(("string", 2, b"main"), ("frame", 0x1040, 2, 1), ("frame", 0x5050, 2, 0), ("decoded", [0, 1])),
        ("alloc", 1, 12, 0, None, 0xA0, 0, 8),
        *(("alloc", 2, 7, 1 << 31, (3, 1), 0xB0, 0, 12), ("realloc", 3, 12, 0, None, 0xC0, 0xA0, 20)),
        *(("alloc", 4, 7, 0, (3, 2), 0xB0, 0, 7), ("free", 5, 12, 0, (3, 1), 0xB0, 0, 0)),
        *(("realloc", 5, 7, 0, (3, 2), 0xB0, 0xB0, 9), ("free", 6, 12, 0, None, 0xEE, 0, 0)),
    ]
)

SAMPLES = [
    Sample(
        "rep", REP, ["0 0 malloc 0 8 -", "0 0 malloc 1 16 -", "0 0 realloc 0 24 -", "0 0 free 0 - -", "0 0 free 1 - -"]
    ),
    Sample(
        "malloc-bench",
        gzip.compress(MALLOC_BENCH, mtime=0),
        [
            "0 0 malloc 0 8 -",
            "0 0 calloc 1 12 -",
            "0 0 realloc 0 20 -",
            "0 0 aligned 2 7 64",
            "0 0 free_sized 2 7 64",
            "0 0 malloc 2 9 -",
            "0 0 free 0 - -",
        ],
    ),
    Sample(
        "android",
        zipped(ANDROID),
        [
            "0 0 malloc 0 8 -",
            "1000 1 calloc 1 12 -",
            "2000 0 realloc 0 20 -",
            "2500 1 aligned 2 7 64",
            "3000 0 free 1 - -",
            "4000 1 thread_exit - - -",
            "5000 2 malloc 1 9 -",
        ],
    ),
    Sample("csv", CSV, TABLE_EVENTS),
    Sample("jsonl", JSON_LINES, TABLE_EVENTS),
    Sample("parquet", _parquet(), TABLE_EVENTS),
    Sample(
        "mtrace",
        MTRACE,
        ["0 0 malloc 0 8 -", "0 0 realloc 0 20 -", "0 0 malloc 1 0 -", "0 0 free 0 - -"],
    ),
    Sample(
        "valgrind",
        VALGRIND,
        [
            "0 0 malloc 0 8 -",
            "0 0 malloc 1 24 -",
            "0 0 calloc 2 12 -",
            "0 0 realloc 0 20 -",
            "0 0 aligned 3 64 128",
            "0 0 free 3 - -",
            "0 0 aligned 3 5 32",
            "0 0 free 1 - -",
        ],
    ),
    Sample(
        "ltrace",
        LTRACE,
        [
            "0 0 malloc 0 8 -",
            "2000 0 realloc 0 20 -",
            "5000 1 calloc 1 12 -",
            "7000 0 malloc 2 40 -",
            "10000 0 free 2 - -",
            "11000 0 aligned 2 64 32",
            "12000 0 free 0 - -",
            "13000 1 thread_exit - - -",
        ],
    ),
    Sample(
        "heaptrack",
        HEAPTRACK,
        [
            "0 0 malloc 0 8 -",
            "10000000 0 malloc 1 12 -",
            "10000000 0 free 0 - -",
            "10000000 0 malloc 0 20 -",
            "10000000 0 free 1 - -",
        ],
    ),
    Sample(
        "heaptrack",
        INTERPRETED,
        [
            "0 0 malloc 0 8 -",
            "10000000 0 malloc 1 12 -",
            "10000000 0 malloc 2 8 -",
            "10000000 0 free 2 - -",
            "10000000 0 malloc 2 20 -",
            "10000000 0 free 1 - -",
            "10000000 0 free 0 - -",
        ],
    ),
]
SAMPLES += [
    Sample(
        "memray",
        lz4.frame.compress(MEMRAY),
        [
            "0 0 malloc 0 8 -",
            "10000000 1 calloc 1 12 -",
            "10000000 1 free 0 - -",
            "10000000 1 malloc 0 20 -",
            "10000000 1 aligned 2 7 -",
            "10000000 1 free 1 - -",
        ],
    ),
    Sample(
        "bytehound",
        BYTEHOUND,
        [
            "0 0 malloc 0 8 -",
            "1000 1 calloc 1 12 -",
            "2000 0 realloc 0 20 -",
            "3000 1 malloc 2 7 -",
            "4000 0 free 1 - -",
            "4000 1 realloc 2 9 -",
        ],
    ),
]


def damaged(content: bytes, rng: random.Random) -> bytes:
    """The content cut off, with bytes or bits changed, or with a part twice or missing."""
    data = bytearray(content)
    kind, at = rng.randrange(4), rng.randrange(len(data))
    if kind == 0:
        return bytes(data[:at])
    if kind == 1:
        for _ in range(rng.randrange(1, 4)):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 2:
        data[at] = rng.randrange(256)
    else:
        end = min(len(data), at + rng.randrange(1, 30))
        data[at:end] = data[at:end] * rng.choice([0, 2])
    return bytes(data)


def hold_damage(folder: Path, name: str, content: bytes, files: int) -> None:
    """Damage the content of a file in many ways: each becomes a trace, or one line that names the file."""
    file, out = folder / "file", folder / "out.hst"
    failed = 0
    for seed in range(files):
        file.write_bytes(damaged(content, random.Random(f"{name} {seed}")))
        fault = None
        try:
            import_trace(file, out, name)
        except BadInput as error:
            fault = str(error)
        if fault is None:
            verify(out)
            out.unlink()
        else:
            failed += 1
            assert fault.startswith(f"{file}: ")
            assert "\n" not in fault
        assert os.listdir(folder) == ["file"]
    assert failed
