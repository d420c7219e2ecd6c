"""`heapsmith core` and `pins`: each block of a program is what the program says it is, and planted damage is told."""

import json
import os
import re
import resource
import signal
import struct
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import Answer
from covering import soon
from loaded import unchecked_library
from preloaded import BUILT_IN, design_of, library, program
from traces import trace_of

from heapsmith.model.errors import BadInput
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.sampled.core import look_at_core
from heapsmith.tools.sampled.pins import look_at_pins
from heapsmith.tools.sampled.process import _head, place_of
from heapsmith.tools.sampled.snapshot import SAMPLE
from heapsmith.tools.top import blocks as kinds
from heapsmith.tools.top.core_memory import CoreMemory
from heapsmith.tools.top.view import serving

Call = Callable[..., Answer]
PATTERN = Path("/proc/sys/kernel/core_pattern")
THREADS = 4
EXPECTED = {
    "l": {kinds.LIVE, kinds.LARGE},
    "f": {kinds.FREE, kinds.CARVED, kinds.EMPTY, kinds.WAITING, kinds.PAGES},
    "r": {kinds.LARGE, kinds.HUGE},
    "h": {kinds.HUGE},
}


def variables(library: Path | None) -> dict[str, str]:
    found = {name: text for name, text in os.environ.items() if name not in ("LD_PRELOAD", "HEAPSMITH")}
    return found | ({"LD_PRELOAD": preloadable(library)} if library else {})


def dumped(folder: Path, library: Path | None, fault: str, *command: str | Path) -> Path:
    """The core file of run_core, or of a command."""
    if not PATTERN.exists() or PATTERN.read_text().startswith(("|", "/")):
        pytest.xfail("the kernel hands core files to another place (core_pattern), and no package changes that")
    words = command or (program("run_core"), folder / "blocks", str(THREADS), fault)
    done = subprocess.run(
        ["prlimit", f"--core={resource.RLIM_INFINITY}", *map(str, words)],
        cwd=folder,
        env=variables(library),
        stdout=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == -signal.SIGSEGV
    (found,) = folder.glob("core*")
    return found


def refusal(call: Call, *words: object) -> str:
    """What a command says whose input is refused."""
    answer = call(*words)
    assert answer.status == 2
    return answer.err


def told(folder: Path) -> list[tuple[str, int, int]]:
    """What the program said of its blocks: kind, address, bytes."""
    rows = [line.split() for line in (folder / "blocks").read_text().splitlines()]
    return [(kind, int(address, 16), int(size)) for kind, address, size in rows]


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(BUILT_IN, ("default",), ("lean", "owner", "hakmem", "ring", "hardened")))
def test_every_block_is_what_the_program_says(name: str, tmp_path: Path) -> None:
    core = dumped(tmp_path, unchecked_library(design_of(name)), "none")
    rows = told(tmp_path)
    found = look_at_core(core, [address + size // 2 for _, address, size in rows])
    assert found.damage == []
    assert (found.signal, found.fault) == ("SIGSEGV", 16)
    unknown = 0
    for (kind, address, size), asked in zip(rows, found.addresses, strict=True):
        place = asked.place
        unknown += place.kind == kinds.UNKNOWN
        assert place.kind in EXPECTED[kind] | {kinds.UNKNOWN}, (kind, asked)
        if kind == "l":
            assert place.begin is not None
            assert place.bytes is not None
            assert (place.begin, place.begin <= address, address + size <= place.begin + place.bytes) == (
                *(place.begin, True, True),
            )
            assert (place.kind == kinds.LARGE) == (size > design_of(name).sizes[-1])
    assert unknown == 0 or name != "default"


def test_the_end_is_told_without_addresses(tmp_path: Path, call: Call) -> None:
    core = dumped(tmp_path, unchecked_library(design_of("default")), "none")
    block = told(tmp_path)[2]
    said = json.loads(call("core", core, "--json").out)
    by_name = {one["name"]: one["place"] for one in said["addresses"]}
    assert by_name["the fault"]["kind"] == "no memory of the program"
    assert (by_name["rbx"]["begin"], by_name["rbx"]["inside"]) == (block[1], 5)
    answer = call("core", core)
    assert "run_core" in answer.out.splitlines()[0]
    assert f"rbx {block[1] + 5:#x}: live block, byte 5 of" in " ".join(answer.out.split())
    assert "do not contradict each other" in answer.out
    assert refusal(call, "core", core, "0x10", "0x").startswith("heapsmith: 0x: expected an address")
    assert "stack" not in answer.out
    text = call("core", core, f"{program_text(core):#x}").out
    assert f"({program('run_core')})" in "".join(text.split())


def program_text(core: Path) -> int:
    """An address of the program's instructions."""
    return CoreMemory(core).threads[0]["rip"]


@pytest.mark.parametrize(
    ("fault", "said"), [("twice", "is free twice"), ("middle", "expected the beginning of a block")]
)
def test_misuse_is_told(fault: str, said: str, tmp_path: Path, call: Call) -> None:
    core = dumped(tmp_path, unchecked_library(design_of("default")), fault)
    local = told(tmp_path)[-1][1]
    damage = look_at_core(core).damage
    assert len(damage) == 1
    assert f"{local + 16 * (fault == 'middle'):#x} is" in damage[0]
    assert said in damage[0]
    assert said in " ".join(call("core", core).out.split())


def patched(core: Path, address: int, content: bytes) -> None:
    """Write over the memory in a core file."""
    segment = next(one for one in CoreMemory(core).segments if one.begin <= address < one.begin + one.held)
    with core.open("r+b") as file:
        file.seek(segment.offset + address - segment.begin)
        file.write(content)


@pytest.mark.parametrize(
    ("field", "said"), [("out", "60000 blocks out"), ("freed", "marks of free blocks; expected 60000")]
)
def test_records_that_were_written_over_are_told(field: str, said: str, tmp_path: Path) -> None:
    core = dumped(tmp_path, unchecked_library(design_of("default")), "none")
    memory = CoreMemory(core)
    view = serving(memory)
    assert view is not None
    patched(core, memory.word(view.at["last_slab"]) + view.at[f"slab.{field}"], struct.pack("<I", 60_000))
    damage = look_at_core(core).damage
    assert any(said in sentence for sentence in damage)
    assert len({sentence.partition(":")[0] for sentence in damage}) == 1  # all of this slab


def test_what_is_no_core_is_refused(tmp_path: Path, call: Call) -> None:
    text, empty, cut = (tmp_path / name for name in ("text", "empty", "cut"))
    text.write_text("no core\n")
    profile = tmp_path / "p.heap"
    profile.write_text("heap profile: 1: 2 [3: 4] @ heapprofile\n")
    empty.touch()
    without = dumped(tmp_path, None, "none")
    cut.write_bytes(without.read_bytes()[:-5000])
    for file, said in (
        (tmp_path / "absent", "No such file"),
        (tmp_path, "Is a directory"),
        (empty, "expected the core file"),
        (text, "is another kind of file; expected the core file"),
        (trace_of(tmp_path / "t.hst", [16]), "is a trace, which `trace info`, `sites`, `simulate` and others can read"),
        (profile, "is a heap profile, which `profile` and `trace synth` can read"),
        (program("run_core"), "is a program or a library"),
        (cut, "cut short by 5,000 bytes"),
        (without, "ran under no heapsmith library"),
    ):
        error = refusal(call, "core", file)
        assert error.startswith(f"heapsmith: {file}: ")
        assert said in error
        assert error.count("\n") == 1


def test_a_library_that_has_changed_is_refused(tmp_path: Path) -> None:
    library = tmp_path / "lib.so"
    library.write_bytes(unchecked_library(design_of("default")).read_bytes())
    core = dumped(tmp_path, library, "none")
    library.write_bytes(unchecked_library(design_of("lean")).read_bytes())
    with pytest.raises(BadInput, match=r"lib\.so has changed since"):
        look_at_core(core)
    library.unlink()
    with pytest.raises(BadInput, match="all private memory and the mapped files"):
        look_at_core(core)


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(BUILT_IN, ("default",), ("lean", "owner", "hakmem", "ring")))
def test_pins_are_those_of_the_program(name: str, tmp_path: Path) -> None:
    words = [str(program("run_core")), str(tmp_path / "blocks"), str(THREADS), "wait"]
    library = unchecked_library(design_of(name))
    with subprocess.Popen(words, env=variables(library), stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        found = look_at_pins(run.pid)
        run.kill()
    small = [size for kind, _, size in told(tmp_path) if kind == "l" and size <= design_of(name).sizes[-1]]
    others = found.classes
    live = sum(one.live_blocks for one in others)
    assert live >= len(small)
    if name == "default":
        assert found.is_exact
        assert live - len(small) < 40  # of the C library and of threads
        assert sum(small) <= found.live_bytes <= found.slab_bytes
        assert 0 <= found.idle_bytes <= found.compaction_bytes
        assert found.live_bytes + found.compaction_bytes <= found.slab_bytes
        fewest = found.slab_bytes - found.live_bytes - len(others) * 4096
        assert found.compaction_bytes >= fewest


def test_processes_without_a_heap_are_refused(call: Call) -> None:
    with subprocess.Popen(["sleep", "1000"]) as run:
        assert "runs under no heapsmith library" in refusal(call, "pins", run.pid)
        run.kill()
    assert refusal(call, "pins", run.pid) == f"heapsmith: {run.pid}: no such process\n"


def test_pins_are_printed(tmp_path: Path, call: Call) -> None:
    words = [str(program("run_core")), str(tmp_path / "blocks"), "1", "wait"]
    with subprocess.Popen(
        words, env=variables(unchecked_library(design_of("default"))), stdout=subprocess.PIPE, text=True
    ) as run:
        assert run.stdout is not None
        run.stdout.readline()
        text, said = call("pins", run.pid, "--top", 3).out, json.loads(call("pins", run.pid, "--json").out)
        run.kill()
    assert "If blocks could move" in text
    assert len(re.findall(r"(?m)^ *[\d,]+ .*%", text)) == 3
    assert said["pid"] == run.pid
    assert said["classes"]


def test_memory_that_nobody_wrote_is_zero_and_a_signal_by_kill_has_no_address(tmp_path: Path) -> None:
    """No block has gone back to its slab, so no page has marks; siginfo has the sender in the place of an address."""
    (tmp_path / "early.c").write_text(
        "#include <signal.h>\n#include <stdlib.h>\n"
        "int main(void) { void *volatile block = malloc(100); (void)block; raise(SIGSEGV); return 0; }\n"
    )
    program = tmp_path / "early"
    subprocess.run(["gcc", "-o", program, tmp_path / "early.c"], check=True)
    found = look_at_core(dumped(tmp_path, unchecked_library(design_of("default")), "", program))
    assert (found.signal, found.fault, found.damage) == ("SIGSEGV", None, [])
    assert found.live_blocks >= 1


@pytest.mark.parametrize("size", [100, 1000])
def test_the_call_sites_of_sampled_blocks(tmp_path: Path, call: Call, size: int) -> None:
    """Of a block, of a small or a large request, and its neighbours, each with a sample, but of none that was freed."""
    (tmp_path / "three.c").write_text(
        "#include <signal.h>\n#include <stdint.h>\n#include <stdio.h>\n#include <stdlib.h>\n"
        "static void *volatile kept[300];\n"
        "__attribute__((noinline)) static void *inner(int i) { return malloc((size_t)SIZE + i % 2); }\n"
        "__attribute__((noinline)) static void outer(int i) { kept[i] = inner(i); kept[i + 1] = malloc(SIZE - 1); }\n"
        "int main(int count, char **words) {\n"
        "  for (int i = 0; i < 300; i += 2) outer(i);\n"
        "  free(kept[150]);\n"
        '  FILE *file = fopen(words[count - 1], "w");\n'
        '  for (int i = 146; i < 152; i++) fprintf(file, "%#zx\\n", (uintptr_t)kept[i]);\n'
        "  fclose(file); raise(SIGSEGV); return 0; }\n"
    )
    program, addresses_file = tmp_path / "three", tmp_path / "addresses"
    subprocess.run(
        ["gcc", "-g", f"-DSIZE={size}", "-fno-omit-frame-pointer", "-o", program, tmp_path / "three.c"], check=True
    )
    added = {"LD_PRELOAD": preloadable(library("sampled", checked=False)), "HEAPSMITH": "sample=16"}
    core = dumped(
        tmp_path, None, "", "env", *(f"{name}={text}" for name, text in added.items()), program, addresses_file
    )
    addresses = addresses_file.read_text().split()
    said = json.loads(call("core", core, *addresses, "--json").out)["addresses"]
    by_begin = {one["place"]["begin"]: one for one in said}
    for number, one in enumerate(said):
        live = number != 4
        expected = ["inner", "outer", "main"] if number % 2 == 0 else ["outer", "main"]
        assert [name.split()[0] for name in one["site"][: len(expected)]] == (expected if live else [])
        for side, step in (("before", -1), ("after", 1)):
            other = by_begin.get(one["place"]["begin"] + step * one["place"]["bytes"])
            assert other is None or one[side] == other["site"]
    text = " ".join(call("core", core, addresses[0]).out.split())
    assert "allocated by inner" in text
    assert any(one["before"] for one in said)
    assert any(one["after"] for one in said)
    said = json.loads(call("core", of_unknown_sites(core), *addresses, "--json").out)["addresses"]
    assert {tuple(one[side]) for one in said for side in ("site", "before", "after")} == {()}


def of_unknown_sites(core: Path) -> Path:
    """A core whose samples are of a site that its table has not: a thread was amid a change, or wrote over them."""
    memory = CoreMemory(core)
    at = place_of(core, memory).at
    table = int(_head(memory, at)["tables"])
    samples = np.frombuffer(memory.read(table, at["SAMPLE_PLACES"] * SAMPLE.itemsize), SAMPLE).copy()
    samples["site"][samples["block"] != 0] = 99_999
    segment, content = memory._segment(table), bytearray(core.read_bytes())
    assert segment is not None
    offset = segment.offset + table - segment.begin
    content[offset : offset + samples.nbytes] = samples.tobytes()
    damaged = core.with_name("damaged")
    damaged.write_bytes(content)
    return damaged
