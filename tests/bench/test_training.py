"""The column `tuned`: a design made for each row from another input, its reasons, and rows that cannot have one."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest
from conftest import Answer

from heapsmith.bench.programs.micro_rows import MICRO, THREADS, MicroRow
from heapsmith.bench.programs.programs import Program, programs
from heapsmith.bench.suite import benchmark, suite, training
from heapsmith.bench.suite import rows as suite_rows
from heapsmith.bench.suite.columns import TUNED, Column
from heapsmith.bench.suite.results import BenchReport
from heapsmith.bench.suite.suite import Request, bench
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed
from heapsmith.model.search.choice import NO_LIMITS, parse_limits
from heapsmith.model.search.source import Source
from heapsmith.model.trace.events import Op
from heapsmith.model.trace.reader import TraceReader
from heapsmith.tools.peers.peers import Library

pytestmark = pytest.mark.usefixtures("own_outcomes")

Call = Callable[..., Answer]

TINY = {
    "tiny": MicroRow("tiny", "fixed", 9000, 9000, "520 1500", "one size that the default wastes"),
    "large": MicroRow("large", "mixed", 60, 60, "5 40000 50000 uniform 1", "no small block at all"),
    "none": MicroRow("none", "startup", 3, 3, "", "a program that allocates nothing"),
}


@pytest.fixture
def tiny_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suite_rows, "MICRO_SUITES", {"micro": list(TINY.values()), "threads": []})


@pytest.mark.big
@pytest.mark.usefixtures("tiny_rows")
def test_rows_tuned_on_another_input(lab: Call, tmp_path: Path) -> None:
    file = tmp_path / "bench.json"
    answer = lab("run", "--suite", "micro", "--rounds", "1", "--lib", "default", "--tune", "-o", file)
    assert answer.status == 0
    report = msgspec.json.decode(file.read_bytes(), type=BenchReport)
    made, kept, none = (row.tuning for row in report.rows)
    assert made is not None
    assert kept is not None
    assert none is not None
    assert made.design is not None
    assert (made.kept_base, kept.kept_base, none.design) == (False, True, None)
    assert 528 in made.design.sizes
    assert made.hash == made.design.hash() != load("default").hash() == kept.hash
    assert made.on == "fixed 3000 520 1500, another seed"
    assert made.operations == 3000 + 1500
    assert report.rows[2].failed["tuned"] == "none.hst: no allocation to tune for"
    assert benchmark.broken(report) == []
    rss = {cell.column: cell.peak_rss_bytes.median for cell in report.rows[0].cells}
    assert rss["tuned"] < 1.05 * rss["default"]  # a few pages more or less are the system's
    assert [row.cell("tuned") is None for row in report.rows] == [False, False, True]
    said = answer.out.splitlines()
    assert "the tuner kept the default design, which `tuned` then is, in large" in said
    assert "none under tuned: none.hst: no allocation to tune for" in said
    assert any(line.split()[:3] == ["tiny", made.hash, str(len(made.design.sizes))] for line in said)


@pytest.mark.usefixtures("tiny_rows")
def test_what_can_go_wrong_in_training(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: Path) -> suite_rows.Training:
        raise CheckFailed("exit status 5 under the recorder")

    found = {name: suite_rows._micro_row(row, "micro", False) for name, row in TINY.items()}
    chosen = [found["large"]._replace(train=None), found["none"]._replace(train=broken)]
    monkeypatch.setattr(suite, "rows", lambda *_, **__: chosen)
    report = bench(Request(libs=["glibc"], rounds=1, tune=True))
    assert [row.failed["tuned"] for row in report.rows] == [
        "it has no other input to tune on",
        "exit status 5 under the recorder",
    ]
    assert benchmark.broken(report) == []
    untuned = msgspec.structs.replace(report.rows[0], tuning=None)
    assert benchmark.broken(msgspec.structs.replace(report, rows=[untuned])) == ["large"]


@pytest.mark.thorough
def test_no_row_is_tuned_on_the_measured_input(tmp_path: Path) -> None:
    for row in [*MICRO, *THREADS]:
        assert row.training_words() not in [row.words(quick=False), row.words(quick=True)], row
    measured, training = (
        programs(tmp_path / name, scale=scale, seed=seed) for name, scale, seed in (("a", 1, 1), ("b", 0.7, 2))
    )
    assert [one.name for one in measured] == [one.name for one in training]
    for one, other in zip(measured, training, strict=True):
        words = [word.replace(str(tmp_path / "b"), str(tmp_path / "a")) for word in other.command]
        assert words != one.command or contents_of(other.command, tmp_path) != contents_of(one.command, tmp_path)


@pytest.mark.thorough
def test_a_replay_is_trained_on_a_recording_of_itself(tmp_path: Path) -> None:
    other = programs(tmp_path / "inputs", scale=0.02, seed=2)[2]
    train = suite_rows._replay_row(other, "replay", other).train
    assert train is not None
    found = train(tmp_path)
    ((trace, weight),) = found.traces
    with TraceReader(trace) as reader, TraceReader(tmp_path / "recorded" / f"{other.name}.hst") as whole:
        requests = Counter(size for chunk in reader for size in chunk.size[chunk.op == Op.MALLOC].tolist())
        wanted = Counter(size for chunk in whole for size in chunk.size[chunk.op == Op.MALLOC].tolist())
        passed = [np.concatenate([chunk.time_ns for chunk in one]) for one in (reader, whole)]
        samples = reader.footer.samples
        assert Path(reader.header.command[0]).name.startswith("heapsmith-replay")
    assert weight == 1.0
    assert not wanted - requests
    assert samples is not None
    assert samples.touched
    source = Source(trace)
    assert (source.tells_touched, source.tells_time) == (True, True)
    middles = [time[len(time) // 4 :: len(time) // 4][:3] / time[-1] for time in passed]
    assert middles[0] == pytest.approx(middles[1], abs=0.02)
    assert found.on == f"the replay of {other.name} over an input of 70% of the size, another seed"


@pytest.mark.thorough
@pytest.mark.parametrize("row", [suite_rows._program_row, suite_rows._replay_row])
def test_where_blocks_go_between_threads_several_recordings_count(
    row: Callable[[Program, str, Program], suite_rows.Row], tmp_path: Path
) -> None:
    other = next(one for one in programs(tmp_path / "inputs", scale=0.02, seed=2) if one.name == "zstd")
    train = row(other, "programs", other).train
    assert train is not None
    events = []
    for trace, _ in train(tmp_path).traces:
        with TraceReader(trace) as reader:
            events.append(sum(len(chunk.op) for chunk in reader))
    assert len(events) == 3
    assert min(events) > 0


def contents_of(command: list[str], folder: Path) -> list[bytes]:
    """What the files hold that a command names; of a repository its refs, and so its hashes."""
    named = [Path(word.removeprefix(".read ")) for word in command if str(folder) in word]
    files = [file for path in named for file in ([path] if path.is_file() else sorted(path.rglob("*")))]
    return [
        file.read_bytes() for file in files if file.is_file() and (".git" not in file.parts or "refs" in file.parts)
    ]


def test_the_page_says_what_was_asked_of_the_search() -> None:
    report = BenchReport(True, 1, [], [], {}, "time", parse_limits("1.05x", "200M"))
    assert benchmark._tunings(report).title == (
        "what `tuned` is in each row (--favour time --max-time 1.05x --max-rss 209715200)"
    )
    usual = msgspec.structs.replace(report, favour="balanced", limits=NO_LIMITS)
    assert benchmark._tunings(usual).title == "what `tuned` is in each row"


def test_a_tuned_library_that_does_not_build_is_out_of_its_row_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: object) -> Path:
        raise CheckFailed("gcc: no")

    monkeypatch.setattr(training, "library_of", refuse)
    design = load("default")
    tuning = training.Tuning("another input", 9, design, design.hash(), True)
    column = Column(Library(TUNED, None), "tuned")
    assert training.with_library(column, tuning).unusable == "gcc: no"
