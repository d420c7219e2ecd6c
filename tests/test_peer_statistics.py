"""Statistics of other mallocs, written by these: what is held, which classes have free blocks, and what to set."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mimalloc_texts
import pytest
from conftest import Answer

from heapsmith.model.errors import BadInput
from heapsmith.tools.peers.peers import built_folder
from heapsmith.tools.peers.statistics import read_statistics

Call = Callable[..., Answer]

LIBRARIES = Path("/usr/lib/x86_64-linux-gnu")
BLOCKS, BYTES = 8000, 1000
JOB = f"""
import ctypes, sys
libc = ctypes.CDLL(None)
libc.malloc.restype = libc.fopen.restype = ctypes.c_void_p
libc.malloc.argtypes, libc.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]
blocks = [libc.malloc({BYTES}) for _ in range({BLOCKS})]
for block in blocks[::2]:
    libc.free(block)
if len(sys.argv) > 1:
    file = ctypes.c_void_p(libc.fopen(sys.argv[1].encode(), b"w"))
    libc.malloc_info(0, file)
    libc.fclose(file)
"""
"""Frees every second of its blocks."""

WRITES = {
    "jemalloc": ("libjemalloc.so.2", {"MALLOC_CONF": "stats_print:true,stats_print_opts:J"}),
    "tcmalloc": ("libtcmalloc_minimal.so.4", {"MALLOCSTATS": "2"}),
}
"""The library and its variables, by which it writes its statistics to standard error when the program ends."""


def written(name: str, file: Path) -> Path:
    """The statistics of a malloc under which the job ran."""
    if name == "glibc":
        subprocess.run([sys.executable, "-c", JOB, file], check=True)
        return file
    library, variables = WRITES[name]
    if not (LIBRARIES / library).exists():
        pytest.skip(f"{library} is not installed")
    environment = os.environ | variables | {"LD_PRELOAD": str(LIBRARIES / library)}
    with file.open("wb") as errors:
        subprocess.run([sys.executable, "-c", JOB], check=True, env=environment, stderr=errors)
    return file


def statistics(call: Call, file: Path) -> dict[str, Any]:
    answer = call("stats", file, "--json")
    assert answer.status == 0, answer.err
    found: dict[str, Any] = json.loads(answer.out)
    assert 0 < found["block_bytes"] < found["held_bytes"]
    assert found["block_bytes"] + sum(found["parts"].values()) <= found["held_bytes"]
    assert min(found["parts"].values()) >= 0
    assert f"{found['held_bytes']:,}" in call("stats", file).out
    return found


def test_glibc_tells_free_chunks_by_size(call: Call, tmp_path: Path) -> None:
    found = statistics(call, written("glibc", tmp_path / "info.xml"))
    freed = found["parts"]["free chunks of the first arena"]
    assert BLOCKS // 2 * BYTES * 0.9 < freed < BLOCKS // 2 * BYTES * 1.5
    size, free = max((one["free_bytes"], one["block_bytes"]) for one in found["classes"])[::-1]
    assert BYTES <= size < 1.1 * BYTES
    assert free > 0.9 * BLOCKS // 2 * BYTES
    assert any("trim_threshold" in line for line in found["advice"])


def test_jemalloc_tells_blocks_and_free_bytes_by_class(call: Call, tmp_path: Path) -> None:
    found = statistics(call, written("jemalloc", tmp_path / "stats.json"))
    [row] = [one for one in found["classes"] if one["block_bytes"] == 1024]
    cached = 300  # what the thread cache keeps of a class at most, and the interpreter's own
    assert BLOCKS // 2 <= row["live"] < BLOCKS // 2 + cached
    assert (BLOCKS // 2 - cached) * 1024 < row["free_bytes"] < (BLOCKS // 2 + cached) * 1024
    assert any("other size classes or slabs" in line for line in found["advice"])


def test_tcmalloc_tells_what_lists_hold(call: Call, tmp_path: Path) -> None:
    found = statistics(call, written("tcmalloc", tmp_path / "stats.txt"))
    lists = found["parts"]["free blocks of all threads"] + found["parts"]["free blocks of thread caches"]
    assert lists > 0.9 * BLOCKS // 2 * BYTES
    [row] = [one for one in found["classes"] if one["block_bytes"] == 1024]
    assert row["free_bytes"] > 0.9 * BLOCKS // 2 * BYTES


MIB = 1 << 20


def test_mimalloc_tells_blocks_and_pages(call: Call, tmp_path: Path) -> None:
    """The text rounds; the JSON tells classes too."""
    text, json_file = tmp_path / "text", tmp_path / "stats.json"
    text.write_text(mimalloc_texts.V2_5_2 + "the program's own\n" + mimalloc_texts.V3_6_0)  # one ended after the other
    json_file.write_text("the program's own\n" + mimalloc_texts.V3_6_0_JSON)
    rounded, exact = statistics(call, text), statistics(call, json_file)
    assert (exact["malloc"], exact["held_bytes"], exact["block_bytes"]) == ("mimalloc 3.6.0", 30_146_560, 8_193_024)
    assert exact["parts"] == {
        "committed and no pages of blocks": 30_146_560 - 10_218_704,
        "free blocks in pages": 10_218_704 - 8_193_024,
    }
    assert exact["classes"] == [{"block_bytes": 1024, "live": 8001, "free_bytes": 0}]
    assert rounded["malloc"] == "mimalloc"
    for name in ("held_bytes", "block_bytes"):
        assert rounded[name] == pytest.approx(exact[name], rel=0.02)
    for found in (exact, rounded):
        assert [line.partition(":")[0] for line in found["advice"]] == ["MIMALLOC_PURGE_DELAY"]


def test_mimalloc_2_tells_pages_alone(call: Call, tmp_path: Path) -> None:
    """All that it reserves counts as committed there; the oldest loses counts, and is refused."""
    file = tmp_path / "stats.txt"
    file.write_text(mimalloc_texts.V2_5_2)
    found = json.loads(call("stats", file, "--json").out)
    assert (found["held_bytes"], found["block_bytes"]) == (round(9.1 * MIB), None)
    assert "in blocks" not in call("stats", file).out
    file.write_text(mimalloc_texts.V2_0_9)
    answer = call("stats", file)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "touched: -2.5 MiB" in answer.err


@pytest.mark.big
@pytest.mark.parametrize("name", ["mimalloc2", "mimalloc3"])
def test_mimalloc_prints_what_is_read(name: str, call: Call, tmp_path: Path) -> None:
    built = sorted(built_folder().glob(f"{name}-*.so"))
    if not built:
        pytest.skip(f"not built: python -m heapsmith.bench.peers.builds {name}")
    file = tmp_path / "stats.txt"
    environment = os.environ | {"MIMALLOC_SHOW_STATS": "1", "LD_PRELOAD": str(built[-1])}
    with file.open("wb") as errors:
        subprocess.run([sys.executable, "-S", "-c", JOB], check=True, env=environment, stderr=errors)
    found = json.loads(call("stats", file, "--json").out)
    assert found["held_bytes"] > BLOCKS * BYTES
    assert name == "mimalloc2" or BLOCKS // 2 * BYTES < found["block_bytes"] < 1.3 * BLOCKS * BYTES


def test_a_file_cut_off_is_refused_and_another_is_none(tmp_path: Path) -> None:
    file = written("glibc", tmp_path / "info.xml")
    file.write_text(file.read_text()[:-200])
    with pytest.raises(BadInput, match="begins as statistics of glibc; expected all of them"):
        read_statistics(file, file.read_text())
    file.write_text('{"design": "default"}')
    assert read_statistics(file, file.read_text()) is None


def test_a_heap_profile_is_named(call: Call, tmp_path: Path) -> None:
    """It is what production has too, but of blocks alone."""
    file = tmp_path / "jeprof.heap"
    file.write_text("heap_v2/4096\n  t*: 3: 300 [0: 0]\n@ 0x1\n  t*: 3: 300 [0: 0]\n")
    answer = call("stats", file)
    assert (answer.status, answer.out, answer.err.count("\n")) == (2, "", 1)
    assert "this is a jemalloc heap profile" in answer.err
    assert "expected its statistics before --profile FILE" in answer.err
    assert "heapsmith trace synth --like" in answer.err
