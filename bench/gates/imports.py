"""The speed and the memory of imports: files of each format, of a given size and of a tenth, made for it.

python -m heapsmith.bench.gates.imports [--bytes N] [--json] [FORMAT]..., or make imports
"""

import os
import random
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, NamedTuple

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.files import scratch
from heapsmith.model.trace.frames import Footer
from heapsmith.tools.common.tables import Words, draw

CALLS = 200_000
"""Of a part, at whose end no block is live; a file repeats it."""
LIVE = 20_000  # blocks at most
SIZES = (16, 24, 32, 48, 64, 100, 200, 1000, 5000)


class Call(NamedTuple):
    """A malloc of `size` bytes, or a free (size 0)."""

    block: int
    size: int
    thread: int
    time_ns: int

    @property
    def pointer(self) -> int:
        """Where the block lies."""
        return 0x7F0000000000 + self.block * 8192


class Imported(msgspec.Struct, frozen=True):
    """One import: of the file, and what it took; seconds are of all of the command, its start included."""

    format: str
    file_bytes: int
    events: int
    cpu_seconds: float
    wall_seconds: float
    peak_rss_bytes: int


def calls() -> Iterator[Call]:
    """Yield a part of a program: most blocks die young, and all before its end."""
    choice, spare = random.Random(1), list(range(LIVE))[::-1]
    live: list[int] = []
    for number in range(CALLS):
        left = CALLS - number
        if spare and left > len(live) and (len(live) < 1000 or choice.random() < 0.5):
            block, size = spare.pop(), choice.choice(SIZES)
            live.append(block)
        elif live:
            block, size = live.pop(choice.randrange(max(0, len(live) - 2000), len(live))), 0
            spare.append(block)
        else:
            return
        yield Call(block, size, number // 100 % 4, number * 150)


def _csv(call: Call) -> bytes:
    words = ("malloc", call.size) if call.size else ("free", "")
    return f"{words[0]},{call.thread},{call.pointer:#x},{words[1]},{call.time_ns}\n".encode()


def _json_lines(call: Call) -> bytes:
    row = {"op": "malloc" if call.size else "free", "thread": call.thread, "pointer": call.pointer, "size": call.size}
    return msgspec.json.encode(row) + b"\n"


def _android(call: Call) -> bytes:
    size, name = (f" {call.size}", "malloc") if call.size else ("", "free")
    return f"{call.thread}: {name} {call.pointer:#x}{size} {call.time_ns} {call.time_ns + 50}\n".encode()


def _heaptrack(call: Call) -> bytes:
    return (f"+ {call.size:x} 1 {call.pointer:x}\n" if call.size else f"- {call.pointer:x}\n").encode()


def _mtrace(call: Call) -> bytes:
    size, sign = (f" {call.size:#x}", "+") if call.size else ("", "-")
    return f"@ ./program:[0x12] {sign} {call.pointer:#x}{size}\n".encode()


def _valgrind(call: Call) -> bytes:
    name, result = (f"malloc({call.size})", f" = {call.pointer:#X}") if call.size else (f"free({call.pointer:#X})", "")
    return f"--7-- {name}{result}\n".replace("0X", "0x").encode()


def _ltrace(call: Call) -> bytes:
    clock = (
        f"10:{call.time_ns // 60_000_000_000 % 60:02}:{call.time_ns // 10**9 % 60:02}.{call.time_ns // 1000 % 10**6:06}"
    )
    name, result = (
        (f"malloc({call.size})", f"{call.pointer:#x}") if call.size else (f"free({call.pointer:#x})", "<void>")
    )
    return f"{4000 + call.thread} {clock} {name:<40} = {result}\n".encode()


def _rep(call: Call) -> bytes:
    return (f"a {call.block} {call.size}\n" if call.size else f"f {call.block}\n").encode()


def _varint(number: int) -> bytes:
    low = [number >> shift & 127 for shift in range(0, max(1, number.bit_length()), 7)]
    return bytes([*(part | 128 for part in low[:-1]), low[-1]])


def _malloc_bench(call: Call) -> bytes:
    fields = b"\x08" + _varint(call.block) + (b"\x10" + _varint(call.size) if call.size else b"")
    line = bytes([10 if call.size else 18, len(fields)]) + fields
    return bytes([10, len(line)]) + line


TEXTS: dict[str, tuple[bytes, Callable[[Call], bytes]]] = {
    "csv": (b"op,thread,pointer,size,time_ns\n", _csv),
    "jsonl": (b"", _json_lines),
    "android": (b"", _android),
    "heaptrack": (b"v 10400 3\nX ./program\n", _heaptrack),
    "ltrace": (b"", _ltrace),
    "mtrace": (b"= Start\n", _mtrace),
    "valgrind": (b"==7== Command: ./program\n", _valgrind),
    "rep": (b"0\n%d\n%%d\n1\n" % LIVE, _rep),
    "malloc-bench": (b"", _malloc_bench),
}
"""What each file begins with, of rep with a place for the number of calls, and how it writes a call."""
BLOCKS = """
import random
blocks, choice = [b""] * 20000, random.Random(1)
for number in range({}):
    blocks[choice.randrange(20000)] = bytearray(choice.randrange(600, 5000))
"""
"""The program that memray records: a malloc and a free in each round."""
MEMRAY_BYTES = 11  # of memray's file for a round, about
BLOCK = 1 << 19  # bytes that bytehound packs at a time
STACKS, DEPTH = 5000, 40
"""Of bytehound's file: allocations have these in turn, which differ in their innermost frames."""


def write(name: str, file: Path, least: int) -> None:
    """Write a file of a format of at least this number of bytes, of memray about that."""
    if name == "parquet":
        return _write_parquet(file, least)
    if name == "memray":
        return _write_memray(file, least)
    if name == "bytehound":
        return _write_bytehound(file, least)
    head, of = TEXTS[name]
    lines = list(map(of, calls()))
    part = b"".join(lines)
    parts = max(1, -(-(least - len(head)) // len(part)))
    with file.open("wb") as out:
        out.write(head % (parts * len(lines)) if name == "rep" else head)
        for _ in range(parts):
            out.write(part)
    return None


def _write_memray(file: Path, least: int) -> None:
    command = [sys.executable, "-m", "memray", "run", "-q", "-f", "-o", str(file), "-c"]
    subprocess.run([*command, BLOCKS.format(least // MEMRAY_BYTES)], check=True)


def _event(call: Call) -> bytes:
    """An event of bytehound: an allocation with one of its call stacks, or a free."""
    if call.size:
        stack = 1 + (call.block * 7 + call.size) % STACKS
        body = struct.pack("<QQQIIIQ", call.pointer, call.size, stack, call.thread, 0, 8, 0)
        return struct.pack("<IQ", 1, call.time_ns // 1000) + body
    return struct.pack("<IQQQI", 3, call.time_ns // 1000, call.pointer, 0, call.thread)


def _write_bytehound(file: Path, least: int) -> None:
    header = struct.pack("<I16s4QI", 0, bytes(range(16)), 0, 0, 0, 0, 7)
    header += struct.pack("<I9sIIQb", 9, b"./program", 0, 0, 1, 8)
    for stack in range(1, STACKS + 1):
        addresses = (0x401000 + 16 * (stack >> 2 * height) + height for height in range(DEPTH))
        header += struct.pack(f"<IQI{DEPTH}Q", 5, stack, DEPTH, *addresses)
    events = b"".join(map(_event, calls()))
    with file.open("wb") as out:
        out.write(_blocks(header))
        packed = _blocks(events)
        while out.tell() < least:
            out.write(packed)


def _blocks(content: bytes) -> bytes:
    import lz4.block

    parts = (content[begin : begin + BLOCK] for begin in range(0, len(content), BLOCK))
    packed = (lz4.block.compress(part, store_size=False) for part in parts)
    return b"".join(struct.pack("<BI", 1, len(part)) + part for part in packed)


def _write_parquet(file: Path, least: int) -> None:
    import pyarrow as pa
    from pyarrow.parquet import ParquetWriter

    names = ("op", "pointer", "size", "thread", "time_ns")
    rows = [["malloc" if one.size else "free", one.pointer, one.size, one.thread, one.time_ns] for one in calls()]
    table = pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))
    with file.open("wb") as out, ParquetWriter(out, table.schema) as writer:
        while out.tell() < least:
            writer.write_table(table)


def measured(name: str, folder: Path, least: int) -> Imported:
    """Import a new file of a format in a process of its own. Raises CheckFailed if it fails."""
    file, trace = folder / "file", folder / "file.hst"
    write(name, file, least)
    command = [
        sys.executable,
        "-m",
        "heapsmith",
        "trace",
        "import",
        "--json",
        "--from",
        name,
        str(file),
        "-o",
        str(trace),
    ]
    begin = time.monotonic()
    with (folder / "said").open("w+") as said:
        process = subprocess.Popen(command, stdout=said)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode != 0:
            raise CheckFailed(f"{name}: the import ended with status {process.returncode}")
        said.seek(0)
        events = msgspec.json.decode(said.read(), type=Footer, strict=False).events
    wall = time.monotonic() - begin
    row = Imported(name, file.stat().st_size, events, used.ru_utime + used.ru_stime, wall, used.ru_maxrss << 10)
    file.unlink()
    trace.unlink()
    return row


def main(
    formats: Annotated[list[str] | None, typer.Argument(help="Default: all that it can write.")] = None,
    size: Annotated[int, typer.Option("--bytes", min=1, metavar="N", help="Bytes of a file, at least.")] = 1 << 30,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
) -> int:
    """Import files of each format, of a tenth of the bytes and of all, and say how fast, and in how much memory."""
    known = [*TEXTS, "parquet", "memray", "bytehound"]
    if unknown := set(formats or ()) - set(known):
        raise BadInput(f"imports: {', '.join(sorted(unknown))}: expected formats among {', '.join(known)}")
    with scratch() as folder:
        rows = [[measured(name, folder, part) for part in (size // 10, size)] for name in formats or known]
    if json:
        print(msgspec.json.encode([one for row in rows for one in row]).decode())
        return 0
    cells = [
        [
            whole.format,
            f"{whole.file_bytes / 1e6:,.0f} MB",
            f"{whole.events:,}",
            f"{whole.events / whole.cpu_seconds / 1e6:.2f} M",
            f"{tenth.peak_rss_bytes / (1 << 20):,.0f} MiB",
            f"{whole.peak_rss_bytes / (1 << 20):,.0f} MiB",
        ]
        for tenth, whole in rows
    ]
    head = ("format", "file", "events", "events per CPU second", "peak RSS of a tenth", "peak RSS")
    draw(Words("", head, cells))
    return 0


if __name__ == "__main__":
    exit_with(main)
