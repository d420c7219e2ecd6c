"""Samples of blocks that realloc resizes, moves, or leaves as they are for want of memory."""

import json
import os
import subprocess
from pathlib import Path

import pytest
from preloaded import library

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import changed, load
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.sampled.snapshot import read

SMALL, RUN, HUGE = 100, 100_000, 40 << 20
"""Bytes of a block in each of the places where samples lie: a run of one page, a longer one, a mapping of its own."""
MORE = (RUN, 3 * RUN, 2 * HUGE, 3 * HUGE, RUN)
"""To which each of them is resized, in turn: in place, moved, remapped, and copied back."""
SOURCE = f"""
#include <stdlib.h>
#include <string.h>
int main(int count, char **words)
{{
    static const size_t bytes[] = {{ {SMALL}, {RUN}, {HUGE} }};
    char *block[3];
    for (int at = 0; at < 3; at++)
        memset(block[at] = malloc(bytes[at]), 'x', bytes[at]);
    for (int at = 0; at < 3; at++)
        if (count == 1 && realloc(block[at], (size_t)1 << 47) != NULL)
            return 3;
    for (int word = 1; word < count; word++)
        for (int at = 0; at < 3; at++) {{
            block[at] = realloc(block[at], atol(words[word]) + at);
            if (block[at] == NULL || block[at][0] != 'x')
                return 4;
        }}
    return 0;
}}
"""


def ran(design: Path, folder: Path, *sizes: int) -> tuple[list[int], dict[str, int]]:
    """The bytes of the samples that live at the end, and the counters; each request is a sample."""
    source, built, stats, heap = (folder / name for name in ("main.c", "main", "stats", "heap"))
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-O1", "-fno-builtin", source, "-o", built], check=True)
    options = f"sample=1,stats={stats},profile={heap}"
    added = {"LD_PRELOAD": preloadable(design), "HEAPSMITH": options}
    subprocess.run([built, *map(str, sizes)], env=os.environ | added, check=True, timeout=300)
    counters: dict[str, int] = json.loads(stats.read_text())["counters"]
    return sorted(read(heap).samples["bytes"].tolist()), counters


def library_with(guards: int) -> Path:
    if guards == 0:
        return library("sampled", checked=False)
    return library_of(changed(load("sampled"), "sampled-guards", {"sampling": {"kind": "countdown", "guards": guards}}))


@pytest.mark.parametrize("guards", [0, 8])
def test_a_realloc_without_memory_leaves_the_sample(guards: int, tmp_path: Path) -> None:
    """No address space has as much."""
    left, counters = ran(library_with(guards), tmp_path)
    assert left[-3:] == [SMALL, RUN, HUGE]
    assert counters["sampled_freed"] == counters["sampled"] - len(left)


@pytest.mark.parametrize("guards", [0, 8])
def test_a_block_that_realloc_resizes_is_a_sample_of_its_last_size(guards: int, tmp_path: Path) -> None:
    """Each of them, and the blocks that they were before are samples no more."""
    for last in range(len(MORE)):
        left, counters = ran(library_with(guards), tmp_path, *MORE[: last + 1])
        assert [one for one in left if one >= RUN] == [MORE[last] + at for at in range(3)]
        assert counters["sampled_freed"] == counters["sampled"] - len(left)
        assert counters["sampled"] >= 3 * (last + 2)
    assert counters["huge_remap"] > 0


ROOM = """
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
int main(void)
{
    for (size_t bytes = 1; bytes < 40000; bytes += 1 + bytes / 50)
        printf("%zu %zu\\n", bytes, malloc_usable_size(malloc(bytes)));
    return 0;
}
"""


@pytest.mark.parametrize("guards", [0, 64])
def test_a_sample_is_as_roomy_as_the_blocks_that_it_stands_for(guards: int, tmp_path: Path) -> None:
    """Else a program that asks how much it may write, as redis does, would grow in samples alone, without a realloc."""
    (tmp_path / "room.c").write_text(ROOM)
    program = compile_c([tmp_path / "room.c"], tmp_path / "room", flags=["-O1", "-fno-builtin"])

    def rooms(mean: int) -> dict[int, int]:
        added = {"LD_PRELOAD": preloadable(library_with(guards)), "HEAPSMITH": f"sample={mean}"}
        words = subprocess.run([program], env=os.environ | added, check=True, capture_output=True, text=True).stdout
        return {int(bytes_): int(usable) for bytes_, usable in map(str.split, words.splitlines())}

    sampled, others = rooms(1), rooms(0)
    assert guards > 0 or sampled == others
    assert all(bytes_ <= usable <= others[bytes_] for bytes_, usable in sampled.items())
    assert len(sampled) > 200
