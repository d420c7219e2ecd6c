"""Sweeps: grids, the store, resumption after interrupts, and processes."""

import json
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from conftest import Answer
from sweeps import GRID, request, rows_of, swept
from traces import random_trace

from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import simulate
from heapsmith.tools.sweep import sweep as fleet
from heapsmith.tools.sweep import table
from heapsmith.tools.sweep.grid import variants
from heapsmith.tools.sweep.local import Processes
from heapsmith.tools.sweep.tasks import Found, Store, machine_hash, model_version, recording
from heapsmith.tools.sweep.work import Job, run_bytes

pytest.importorskip("pyarrow.parquet", reason="a sweep writes Parquet")

Call = Callable[..., Answer]


def test_a_grid_is_the_product_of_its_values(tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('name = "own"\nsizes = [16, 64]\n')
    grid = 'base = "own.toml"\n[values]\nthp = ["never"]\n"front.capacity" = [8, 16]\nrelease.kind = ["keep"]\n'
    (tmp_path / "grid.toml").write_text(grid)
    found, skipped = variants([str(tmp_path / "grid.toml"), "lean"])
    assert skipped == []
    assert [one.design.name for one in found] == ["grid-1", "grid-2", "lean"]
    assert found[1].design.release != found[2].design.release
    assert [dict(one.choices).get("front.capacity") for one in found] == [8, 16, None]
    assert found[1].design.sizes == [16, 64]
    assert (found[1].design.thp, found[1].design.front.capacity) == ("never", 16)  # type: ignore[union-attr]
    assert [one.design for one in variants([str(tmp_path)])[0]] == [one.design for one in found[:2]] + [
        variants([str(tmp_path / "own.toml")])[0][0].design
    ]


def test_a_grid_file_of_any_name_names_its_designs(tmp_path: Path) -> None:
    (tmp_path / "my grid.v2.toml").write_text("[values]\nthp = ['never']\n")
    assert [one.design.name for one in variants([str(tmp_path)])[0]] == ["my-grid-v2-1"]
    (tmp_path / "my-grid.v2.toml").write_text("[values]\nthp = ['never']\n")
    with pytest.raises(BadInput, match=r"my-grid\.v2\.toml: its designs would have the names of those of .*my grid"):
        variants([str(tmp_path)])


def test_the_grid_of_the_page_is_legal(tmp_path: Path) -> None:
    page = (Path(__file__).resolve().parent.parent / "docs" / "howto" / "sweep-on-a-cluster.md").read_text()
    (tmp_path / "grid.toml").write_text(page.partition("cat > grid.toml <<'END'\n")[2].partition("END\n")[0])
    found, skipped = variants([str(tmp_path / "grid.toml")])
    assert (len(found), skipped) == (8, [])
    assert len({one.design.hash() for one in found}) == 8


def test_illegal_combinations_are_counted_with_their_reason(tmp_path: Path) -> None:
    (tmp_path / "grid.toml").write_text(GRID)
    found, skipped = variants([str(tmp_path / "grid.toml")])
    assert len(found) == 4
    assert [(one.combinations, one.reason.split(":")[0]) for one in skipped] == [(2, "slab_bytes")]


@pytest.mark.parametrize(
    ("grid", "words"),
    [
        ("[values]\nslab_byte = [1]\n", "unknown field 'slab_byte'; did you mean 'slab_bytes'"),
        ("[values]\nslab_bytes = 4096\n", "values.slab_bytes: 4096; expected a list"),
        ("[values]\nslab_bytes = []\n", "values.slab_bytes"),
        ("[values]\n", "values: is empty"),
        ("[values.front]\n", "values.front: is empty"),
        ("name = 'x'\n[values]\nthp = ['never']\n", "`name`"),
        ("base = 'no-such'\n[values]\nthp = ['never']\n", "no-such"),
        ("[values]\nslab_bytes = [1, 2, 3]\n", "none of 3 combinations is a legal design: slab_bytes: 1 is"),
        ("[values]\n" + "".join(f"f{n} = {list(range(40))}\n" for n in range(4)), "2,560,000 combinations"),
    ],
)
def test_grids_that_are_none(tmp_path: Path, grid: str, words: str) -> None:
    (tmp_path / "grid.toml").write_text(grid)
    with pytest.raises(BadInput) as error:
        variants([str(tmp_path / "grid.toml")])
    assert words in str(error.value)
    assert "grid.toml" in str(error.value) or "no-such" in words


def test_rows_are_what_simulate_says(call: Call, tmp_path: Path) -> None:
    asked = request(tmp_path)
    out = tmp_path / "r.parquet"
    options = ("--designs", tmp_path / "grid.toml", "--store", tmp_path / "store", "--workers", 1, "--json")
    answer = call("sweep", *options, "--traces", tmp_path, "-o", out)
    assert answer.status == 0, answer.err
    done = json.loads(answer.out)
    assert (done["rows"], done["tasks"], done["kept"], done["simulated"]) == (8, 8, 0, 8)
    assert done["skipped"][0]["combinations"] == 2
    rows = rows_of(out)
    assert len({(row["design"], row["trace"]) for row in rows}) == len(rows) == 8
    for row in rows:
        design = next(one.design for one in asked.variants if one.design.name == row["design"])
        found = simulate(tmp_path / row["trace"], [design])
        said = found.rows[0]
        assert row["design_hash"] == design.hash()
        assert row["committed_peak"] == said.committed_peak
        assert row["refills"] == sum(said.counters.classes["refill"])
        assert row["releases"] == said.counters.totals["releases"]
        assert row["events"] == found.events
        assert json.loads(row["choices"])["front.capacity"] == design.front.capacity  # type: ignore[union-attr]
        assert row["machine"] is row["l1_misses"] is row["ns_per_op"] is None
    shown = call("sweep", *options[:-1], "--traces", tmp_path, "-o", out).out
    shown = " ".join(shown.split())
    assert "8 of 8 tasks were finished before" in shown
    assert "3000 is not usable" in shown
    assert rows_of(out) == rows


def test_figures_of_a_machine_have_their_columns(tmp_path: Path) -> None:
    asked = request(tmp_path, "[values]\nslab_bytes = [65536]\n", traces=0)
    file = random_trace(tmp_path / "short.hst", 200, 1)
    hardware = load_hardware("default")
    swept(fleet.Request(asked.variants, [], [file], hardware, asked.folder), tmp_path / "r.parquet")
    (row,) = rows_of(tmp_path / "r.parquet")
    assert row["machine"] == hardware.name
    assert row["machine_hash"] == machine_hash(hardware)
    assert row["resident_average"] > 0
    assert row["allocator_ns_per_op"] > 0
    said = simulate(file, [asked.variants[0].design], hardware=hardware).rows[0]
    assert said.touches is not None
    assert (row["tlb_misses"], row["page_faults"]) == (said.touches.tlb2_misses, said.touches.faults_4k)


class Interrupted(Processes):
    """This process, interrupted behind the first job."""

    def run(self, jobs: Sequence[Job]) -> Iterator[dict[str, Found]]:
        yield next(super().run(jobs))
        raise KeyboardInterrupt


def test_an_interrupted_sweep_goes_on(tmp_path: Path) -> None:
    asked = request(tmp_path)
    whole = swept(fleet.Request(asked.variants, [], asked.traces, None, tmp_path / "whole"), tmp_path / "whole.parquet")
    assert whole.simulated == 8
    out = tmp_path / "r.parquet"
    with pytest.raises(KeyboardInterrupt):
        swept(asked, out, Interrupted(1))
    assert not out.exists()
    kept = {file: file.stat().st_mtime_ns for file in asked.folder.rglob("*.json")}
    assert len(kept) == 2  # a job of two designs
    kept_file = next(iter(kept))
    kept_file.write_text("{")  # a file that a crash has cut off counts for nothing
    done = swept(asked, out)
    assert (done.kept, done.simulated) == (1, 7)
    assert len(list(asked.folder.rglob("*.json"))) == 8
    assert all(file.stat().st_mtime_ns == at for file, at in kept.items() if file != kept_file)
    assert rows_of(out) == rows_of(tmp_path / "whole.parquet")


def test_the_command_ends_with_the_status_of_an_interrupt(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    request(tmp_path)
    monkeypatch.setattr(fleet, "Processes", Interrupted)
    out, kept = tmp_path / "r.parquet", ("--store", tmp_path / "store")
    answer = call("sweep", "--designs", tmp_path, "--traces", tmp_path, "-o", out, "--workers", 1, *kept)
    assert (answer.status, answer.out) == (128 + signal.SIGINT, "")
    assert "what is finished is kept" in answer.err
    assert not out.exists()
    assert list((tmp_path / "store").rglob("*.json"))


def test_equal_designs_and_traces_are_simulated_once(tmp_path: Path) -> None:
    asked = request(tmp_path, "[values]\nslab_bytes = [65536, 65536]\n", traces=1)
    again = tmp_path / "again.hst"
    again.write_bytes(asked.traces[0].read_bytes())
    both = fleet.Request(asked.variants, [], [*asked.traces, again], None, asked.folder)
    done = swept(both, tmp_path / "r.parquet")
    assert (done.tasks, done.simulated, done.rows) == (1, 1, 4)
    assert len(rows_of(tmp_path / "r.parquet")) == 4


@pytest.mark.thorough
def test_processes_find_the_same_and_a_killed_one_loses_nothing(tmp_path: Path) -> None:
    asked = request(tmp_path)
    swept(fleet.Request(asked.variants, [], asked.traces, None, tmp_path / "whole"), tmp_path / "whole.parquet")
    processes = Killing(2)
    with pytest.raises(Missing, match="worker process was killed"):
        swept(asked, tmp_path / "r.parquet", processes)
    kept = len(list(asked.folder.rglob("*.json")))
    assert 0 < kept < 8
    done = swept(asked, tmp_path / "r.parquet")
    assert (done.kept, done.simulated) == (kept, 8 - kept)
    assert rows_of(tmp_path / "r.parquet") == rows_of(tmp_path / "whole.parquet")


class Killing(Processes):
    """Processes, all of which are killed behind the first job."""

    def run(self, jobs: Sequence[Job]) -> Iterator[dict[str, Found]]:
        import multiprocessing

        found = super().run(
            [*jobs[:1] * 50, *jobs[1:]]
        )  # the first again and again, so that work is left when they die
        yield next(found)
        for process in multiprocessing.active_children():
            process.kill()
        yield from found


def test_bad_inputs(call: Call, tmp_path: Path) -> None:
    asked = request(tmp_path, traces=1)
    trace, out = asked.traces[0], tmp_path / "r.parquet"
    (tmp_path / "empty").mkdir()
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "cut.hst").write_bytes(trace.read_bytes()[:-30])
    for designs, traces, options, words in (
        ("nosuch", trace, (), "nosuch"),
        (tmp_path / "empty", trace, (), "no designs (*.toml)"),
        ("lean", tmp_path / "empty", (), "no traces (*.hst)"),
        ("lean", bad, (), "cut.hst"),
        ("lean", trace, ("--machine", "toaster"), "toaster"),
        ("lean", trace, ("--workers", "2", "--scheduler", "tcp://127.0.0.1:1"), "expected one of them"),
        ("lean", trace, ("--workers", "0"), "workers"),
    ):
        answer = call("sweep", "--designs", designs, "--traces", traces, "-o", out, *options)
        assert (answer.status, answer.out) == (2, ""), answer.err
        assert words in answer.err
        assert answer.err.count("\n") == 1
    assert not out.exists()


def test_without_pyarrow_nothing_begins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(Missing, match=r"pip install 'heapsmith\[sweep\]'"):
        table.require_parquet()
    asked = request(tmp_path, traces=1)
    with pytest.raises(Missing):
        swept(asked, tmp_path / "r.parquet")
    assert not asked.folder.exists()


def test_a_worker_of_another_version_refuses(tmp_path: Path) -> None:
    trace = request(tmp_path, traces=1).traces[0]
    job = Job(str(trace), recording(trace).digest, {"key": 'name = "x"\nsizes = [64]\n'}, None, "0" * 16)
    with pytest.raises(CheckFailed, match=model_version()):
        run_bytes(job, trace.read_bytes())
    broken = Job(*(getattr(job, name) for name in ("trace", "digest", "designs", "hardware")), model_version())
    with pytest.raises(BadInput) as error:
        run_bytes(broken, trace.read_bytes()[:-100])
    assert str(error.value).startswith(f"{trace}: ")


def test_keys_are_those_of_all_that_decides(tmp_path: Path) -> None:
    store = Store(tmp_path, None)
    keys = {store.key("a", "b"), store.key("ab", ""), store.key("b", "a"), Store(tmp_path, "c").key("a", "b")}
    assert len(keys) == 4
