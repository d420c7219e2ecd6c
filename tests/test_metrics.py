"""HEAPSMITH=metrics: the library writes what `heapsmith top` would, whole or not at all, and Prometheus reads it."""

import os
import re
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from covering import soon
from preloaded import BUILT_IN
from scraped import collected
from test_options import run
from test_top import SIZE, THREADS, Stepped, only, stepped

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.top.openmetrics import prometheus
from heapsmith.tools.top.watch import Watch

LAST = "heapsmith_events_total"
"""What the last line is of, where no classes are asked for."""


def settled(path: Path, run: Stepped) -> str:
    """The metrics of now: a signal asks for them too, behind the report."""
    path.unlink(missing_ok=True)
    run.reported()
    end = time.monotonic() + 300
    while not path.exists() and time.monotonic() < end:
        time.sleep(0.005)
    return path.read_text()


def check_with_promtool(text: str) -> None:
    if promtool := shutil.which("promtool"):
        done = subprocess.run([promtool, "check", "metrics"], input=text, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout + done.stderr) == (0, "")


STILL = [name for name in BUILT_IN if load(name).background is None]
"""Designs whose figures stay between two looks: no thread of the library fills a cache."""


@pytest.mark.parametrize("name", soon(STILL, ("default", "counting"), ("owner", "hardened")))
def test_the_library_writes_what_top_reads(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a folder" / "heap.prom"
    path.parent.mkdir()
    with stepped(name, tmp_path, f",metrics={path},metrics-classes") as run:
        watch = Watch(run.pid)
        for step in "wk":
            run.step(step)
            wrote = settled(path, run).splitlines()
            expected = prometheus([sight := only(watch)], classes=True).splitlines()
            differ = [pair for pair in zip(wrote, expected, strict=True) if pair[0] != pair[1]]
            assert [a for a, _ in differ if not a.startswith("heapsmith_resident_bytes{")] == []
            (allocated,) = [line for line in wrote if line.startswith("heapsmith_allocated_bytes{")]
            assert int(allocated.split()[-1]) == sight.bytes.allocated >= 50 * SIZE
        of_size = [line for line in wrote if line.startswith("heapsmith_class_live_blocks{") and f'"{SIZE}"' in line]
        assert (len(of_size), run.said[1]) == (SIZE in load(name).sizes, 50)
        assert [line.split()[-1] for line in of_size] == [str(run.said[1])] * len(of_size)
    check_with_promtool("\n".join(wrote) + "\n")
    assert list(path.parent.iterdir()) == [path]


def test_a_parser_reads_the_file(tmp_path: Path) -> None:
    parser: Any = pytest.importorskip("prometheus_client.parser", reason="prometheus-client is not installed")
    path = tmp_path / "heap.prom"
    assert run(f"metrics={path},metrics-classes") == ("", "")
    families = {one.name: one for one in parser.text_string_to_metric_families(path.read_text())}
    assert {one.type for one in families.values()} == {"gauge", "counter"}
    uses = {one.labels["use"]: one.value for one in families["heapsmith_bytes"].samples}
    gauges = {name: one.samples[0].value for name, one in families.items() if one.type == "gauge"}
    assert sum(uses.values()) == gauges["heapsmith_committed_bytes"] > 0
    assert gauges["heapsmith_allocated_bytes"] == uses["small"] + uses["runs"] + uses["huge"]
    allocated, retained = (gauges[f"heapsmith_{one}_bytes"] for one in ("allocated", "retained"))
    assert allocated + retained == gauges["heapsmith_committed_bytes"]
    events = {one.labels["kind"]: one.value for one in families["heapsmith_events"].samples}
    assert events["realloc_moved"] == 7
    assert families["heapsmith_threads"].samples[0].value == 1
    assert 1 << 16 < families["heapsmith_resident_bytes"].samples[0].value < 1 << 30
    assert 0 < families["heapsmith_metadata_bytes"].samples[0].value < 1 << 20


def test_a_reader_never_sees_half_a_file(tmp_path: Path) -> None:
    """While threads allocate, and each slow path writes."""
    path = tmp_path / "heap.prom"
    seen: set[int] = set()
    with stepped("default", tmp_path, f",metrics={path},metrics-every=0") as run:
        assert run.process.stdin is not None
        run.process.stdin.write("ww")
        run.process.stdin.flush()
        reads, end = 0, time.monotonic() + 300
        while (reads < 300 or len(seen) < 2) and time.monotonic() < end:
            reads += 1
            with path.open() as file:
                text = file.read()
                seen.add(os.fstat(file.fileno()).st_mtime_ns)
            lines = text.splitlines()
            assert text.endswith("\n")
            assert lines[0].startswith("# HELP heapsmith_resident_bytes ")
            assert lines[-1].startswith(f"{LAST}{{")
            assert 'kind="released_bytes"' in lines[-1]
            time.sleep(0.001)
        assert len(seen) > 1  # it was replaced
        run.process.kill()  # thousands of files would follow


def test_slow_paths_write_when_the_time_has_come_and_no_others(tmp_path: Path) -> None:
    path = tmp_path / "heap.prom"
    for every, written in (("100000", False), ("0", True)):
        with stepped("default", tmp_path, f",metrics={path},metrics-every={every}") as run:
            first = path.stat().st_ino
            holder = path.open()  # so that no other file has its number
            run.step("k")
            assert (path.stat().st_ino != first) == written
            assert "heapsmith_threads{" in path.read_text()
            holder.close()
        text = path.read_text()  # at exit
        assert text.splitlines()[-1].startswith(LAST)
        assert f"}} {1 + THREADS}\n" in text


def test_a_child_of_fork_writes_its_own_file_or_none(tmp_path: Path) -> None:
    assert run(f"metrics={tmp_path}/one.prom,metrics-every=0", "fork") == ("", "")
    (path,) = tmp_path.iterdir()
    pids = {line.split('"')[1] for line in path.read_text().splitlines() if line[0] != "#"}
    path.unlink()
    assert len(pids) == 1
    assert run(f"metrics={tmp_path}/%p.prom", "fork") == ("", "")
    files = list(tmp_path.iterdir())
    assert len(files) == 4
    assert all(f'{{pid="{file.stem}",' in file.read_text() for file in files)


def test_the_parent_of_children_writes_the_file(tmp_path: Path) -> None:
    """Also after a child has ended, which leaves the parent's file alone."""
    path = tmp_path / "heap.prom"
    with stepped("default", tmp_path, f",metrics={path},metrics-every=0") as run:
        run.step("f")
        run.step("k")
        assert f'{{pid="{run.pid}",' in path.read_text()


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "heap.prom"
    assert run(f"metrics={path},metrics-every=0") == ("", f'heapsmith: HEAPSMITH: cannot write "{path}"\n')


def test_a_program_that_asks_for_nothing_has_a_file(tmp_path: Path) -> None:
    """Of the start: it has no slow path, and no exit."""
    (tmp_path / "idle.c").write_text("#include <unistd.h>\nint main(void) { _exit(0); }\n")
    program = compile_c([tmp_path / "idle.c"], tmp_path / "idle", flags=["-O1"])
    path = tmp_path / "heap.prom"
    added = {"LD_PRELOAD": preloadable(library_of(load("default"))), "HEAPSMITH": f"metrics={path}"}
    subprocess.run([program], env=os.environ | added, check=True, timeout=300)
    assert path.read_text().splitlines()[-1].startswith(LAST)


def test_without_an_exit_the_file_of_the_start_stays(tmp_path: Path) -> None:
    assert run(f"metrics={tmp_path}/heap.prom", "_exit") == ("", "")
    assert "heapsmith_resident_bytes{" in (tmp_path / "heap.prom").read_text()


@pytest.mark.thorough
def test_node_exporter_collects_the_files_of_two_programs(tmp_path: Path) -> None:
    """Their metrics have one name and one help, as its collector of text files demands."""
    files, first, second = (tmp_path / name for name in ("files", "first", "second"))
    for folder in (files, first, second):
        folder.mkdir()
    with (
        stepped("default", first, f",metrics={files}/%p.prom,metrics-classes") as one,
        stepped("counting", second, f",metrics={files}/%p.prom,metrics-classes") as two,
        collected(files, tmp_path / "exporter.log") as shown,
    ):
        committed = {str(run.pid): run.reported()["counters"]["committed"] for run in (one, two)}
        end = time.monotonic() + 60
        while not (text := shown()) and time.monotonic() < end:
            time.sleep(0.05)
    assert "node_textfile_scrape_error 0" in text
    rows = re.findall(r'^heapsmith_committed_bytes\{.*?pid="(\d+)".*?\} (\S+)$', text, re.MULTILINE)
    assert {pid: float(value) for pid, value in rows} == committed
    designs = set(re.findall(r'^heapsmith_class_live_blocks\{design="(\w+)"', text, re.MULTILINE))
    assert designs == {"default", "counting"}
