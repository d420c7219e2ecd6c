"""`generate --counts`: comments alone are added, and their counts are those of the library on this trace."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
from covering import soon
from test_cli import Call
from traces import random_trace

from heapsmith.codegen.annotated import COUNTING, OF_CLASS, Run, run_of
from heapsmith.codegen.built import library_of
from heapsmith.codegen.difference import counter_names
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.ship import folder_of, single_of
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.parts.counters import COUNTS, TOTALS
from heapsmith.model.trace.reader import TraceReader

DESIGNS = ("default", "lean")
SAID = re.compile(r"/\* (\w+) ([\d,]+)(?:: [\d.]+% of \w+)? \*/$")


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of three threads with large blocks, whose name would end a comment if it could."""
    return random_trace(tmp_path_factory.mktemp("work") / "a b.hst", 20_000, 3, max_size=100_000)


def library_counters(design: Design, trace: Path) -> dict[str, int]:
    """What the checked build counts in a run of the driver, by the names of counter_names."""
    plan = make_plan(design)
    names = counter_names(plan)
    counters = np.zeros(len(names), np.int64)
    with Driver(library_of(design, checked=True), plan.grain, len(names)) as driver, TraceReader(trace) as reader:
        for chunk in reader:
            driver.send(chunk)
            _, counters = driver.receive(len(chunk.op))
    return dict(zip(names, counters.tolist(), strict=True))


def of_line(line: str, counters: dict[str, int]) -> int:
    """The library's count of the counter that a line of C raises."""
    found = COUNTING.match(line)
    assert found
    name = found["name"]
    if name in TOTALS:
        return counters[name]
    one = OF_CLASS.search(found["owner"])
    return counters[f"{name} of class {one[1]}"] if one else sum_of(name, counters)


def sum_of(name: str, counters: dict[str, int]) -> int:
    """The library's count of all classes together."""
    return sum(count for what, count in counters.items() if what.startswith(f"{name} of class "))


@pytest.mark.parametrize("name", soon(DESIGNS, DESIGNS[:1], DESIGNS))
def test_the_counts_are_those_of_the_library(name: str, work: Path) -> None:
    design = load(name)
    counters, files = library_counters(design, work), folder_of(design, run_of(design, work))
    compared = raised = 0
    for file, content in files.items():
        for line in content.decode().splitlines() if file.endswith((".c", ".h")) else ():
            code, _, _ = line.partition(" /* ")
            found = COUNTING.match(code)
            if not found or found["name"] not in (*COUNTS, *TOTALS):
                continue
            said = SAID.search(line)
            assert said, line
            assert (said[1], int(said[2].replace(",", ""))) == (found["name"], of_line(code, counters)), (file, line)
            compared += 1
            raised += of_line(code, counters) > 0
    assert compared > 20
    assert raised > 8


@pytest.mark.parametrize("name", DESIGNS)
def test_the_table_has_each_counter_of_each_class(name: str, work: Path) -> None:
    design = load(name)
    counters, text = library_counters(design, work), folder_of(design, run_of(design, work))["fast.c"].decode()
    head = text.split("*/")[1]
    columns, *rows = head[head.index(" class ") :].split(" *\n")[0].splitlines()
    names = columns.split()[1:]
    assert set(names) == {one for one in COUNTS if sum_of(one, counters)}
    said = {}
    for row in rows:
        _, of, *counts = row.split()
        said |= {f"{one} of class {of}": int(count.replace(",", "")) for one, count in zip(names, counts, strict=True)}
    assert said == {what: count for what, count in counters.items() if what in said}
    assert not any(count for what, count in counters.items() if " of class " in what and what not in said)


@pytest.mark.parametrize("name", DESIGNS)
def test_only_comments_are_added(name: str, work: Path) -> None:
    design = load(name)
    run = run_of(design, work)
    for files, more in ((folder_of(design), folder_of(design, run)), (single_of(design), single_of(design, run))):
        assert files.keys() == more.keys()
        assert files != more
        changed = [file for file in files if files[file] != more[file]]
        assert all(uncommented(files[file]) == uncommented(more[file]) for file in changed)


def uncommented(content: bytes) -> str:
    """C without comments, empty lines and the places of tokens."""
    return " ".join(re.sub(r"/\*.*?\*/", " ", content.decode(), flags=re.S).split())


def machine_code(folder: Path, files: dict[str, bytes]) -> bytes:
    """The object that gcc makes of heap.c."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    subprocess.run([find_gcc().path, "-O1", "-fPIC", "-c", "-o", "heap.o", "heap.c"], cwd=folder, check=True)
    return (folder / "heap.o").read_bytes()


@pytest.mark.thorough
def test_the_machine_code_is_the_same(work: Path, tmp_path: Path) -> None:
    design = load("lean")
    plain = machine_code(tmp_path / "plain", folder_of(design))
    assert machine_code(tmp_path / "told", folder_of(design, run_of(design, work))) == plain


def test_the_bill_of_the_classes_is_within_that_of_all(work: Path) -> None:
    """And the sum of the table is the price of the simulation."""
    run: Run = run_of(load("lean"), work)
    assert run.simulation.price
    with TraceReader(work) as reader:
        operations = sum(int((chunk.op < 6).sum()) for chunk in reader)
    assert run.instructions == pytest.approx(run.simulation.price.instructions_per_op * operations)
    text = folder_of(load("lean"), run)["fast.c"].decode()
    parts = [int(one.replace(",", "")) for one in re.findall(r": ([\d,]+)\s\*?\s?instructions,", text)]
    assert 0 < sum(parts) < run.instructions


def test_the_command(call: Call, work: Path, tmp_path: Path) -> None:
    out = tmp_path / "c"
    assert call("generate", "lean", "-o", out, "--counts", work, "--single").status == 0
    assert "/* hit0 " in (out / "heap.c").read_text()
    assert call("generate", "lean", "-o", out, "--counts", work, "--single", "--check").status == 0
    assert call("generate", "lean", "-o", out, "--single", "--check").status == 1
    answer = call("generate", "lean", "-o", out, "--counts", tmp_path / "none.hst")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
