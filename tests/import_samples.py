"""Small files made by hand, one of each format that can be imported, and the events that they become."""

import gzip
import io
import zipfile
from typing import NamedTuple


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
]
