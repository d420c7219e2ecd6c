"""The soak: a short one runs to its end and finds nothing; memory that creeps up is found; mistakes are one line."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from sanitized import STRESS

from heapsmith.bench.common.command import run
from heapsmith.bench.soak.soak import FLAGS, GROWTH, LEAST_CYCLES, PHASES, PROGRAM, Soak, main, parse
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.tools.common.preload import preloadable

MIB = 1 << 20


class Written(msgspec.Struct):
    soaks: list[Soak]


def text_of(cycles: int, rss_of_cycle: list[int]) -> str:
    """What the program would print: one sample per phase, 100 live blocks of 1 MiB together."""
    lines = [f"base {MIB}"]
    for cycle in range(cycles):
        for number, phase in enumerate(PHASES):
            elapsed_ms = 100 * (len(PHASES) * cycle + number)
            lines.append(f"{elapsed_ms} {cycle} {phase} {MIB} 100 {MIB + rss_of_cycle[cycle]} 1")
    return "\n".join(lines) + "\n"


@pytest.mark.big
def test_twenty_seconds(tmp_path: Path) -> None:
    out = tmp_path / "soak.json"
    words = ["--minutes", "0.3333", "--live", "16", "--duty", "40", "--sample-ms", "200", "--json", str(out)]
    assert run(main, words) == 0
    ours, glibc = msgspec.json.decode(out.read_bytes(), type=Written).soaks
    assert (ours.allocator, glibc.allocator) == ("default", "glibc")
    assert ours.samples[-1].elapsed_ms >= 20_000
    assert len([sample for sample in ours.samples if not sample.at_rest]) > 50
    peaks = [sample for sample in ours.samples if sample.at_rest and sample.phase == "growth"]
    assert len(peaks) >= LEAST_CYCLES
    for sample in peaks:
        assert 14 * MIB < sample.live_bytes < 19 * MIB  # 16, and what lies in shared places
        assert 1 < sample.fragmentation < 3


@pytest.mark.thorough
def test_memory_that_is_never_freed_is_found() -> None:
    program = build_tool("soak", [PROGRAM], FLAGS)
    broken = build_tool("broken.so", [STRESS / "broken.c"], ["-std=gnu17", "-O1", "-fno-builtin", "-fPIC", "-shared"])
    preload = f"LD_PRELOAD={preloadable(broken)}"
    for seconds in (2, 8, 32):  # a busy machine takes longer for the cycles
        command = ["env", preload, "BROKEN=leaks", str(program), str(seconds), "4", "4", "100", "1000"]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
        if done.stdout.count(f" {PHASES[-1]} ") > LEAST_CYCLES:
            break
    found = parse("leaks", done.stdout)
    assert all(verdict.grows for verdict in found.verdicts)


def test_the_rule() -> None:
    flat = parse("flat", text_of(9, [MIB] * 3 + [2 * MIB] * 6))  # what the first third does is not judged
    assert not any(verdict.grows for verdict in flat.verdicts)
    allowed = parse("allowed", text_of(9, [MIB] * 6 + [int(GROWTH * MIB)] * 3))
    assert not any(verdict.grows for verdict in allowed.verdicts)
    over = parse("over", text_of(9, [MIB] * 6 + [int(1.01 * GROWTH * MIB)] * 3))
    assert all(verdict.grows for verdict in over.verdicts)


def test_too_few_cycles_are_not_judged() -> None:
    with pytest.raises(CheckFailed, match="too few"):
        parse("short", text_of(LEAST_CYCLES - 1, [MIB] * LEAST_CYCLES))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--minutes", "0"], "greater than or equal to 0.1"),
        (["--duty", "101"], "less than or equal to 100"),
        (["--design", "no-such-design"], "no-such-design"),
        (["--design", "default", "--design", "default"], "each once"),
        (["--json", "/no/such/folder/file"], "cannot be written"),
        (["--live", "2", "--threads", "4"], "at least 1 MiB for each"),
        (["--json", "/"], "is a directory"),
        (["--what"], "No such option"),
    ],
)
def test_mistakes(words: list[str], says: str) -> None:
    with pytest.raises(BadInput, match=says) as mistake:
        run(main, words)
    assert "\n" not in str(mistake.value)


def test_a_mistake_is_one_line_and_status_2() -> None:
    command = [sys.executable, "-m", "heapsmith.bench.soak.soak", "--minutes", "x"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("heapsmith: ")
    assert done.stderr.count("\n") == 1
