"""The forge from end to end on a real program, and what it leaves behind when it is interrupted."""

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from conftest import PROGRAM, Answer, complaint
from preloaded import PROGRAMS

from heapsmith.api import show
from heapsmith.bench.programs.micro_programs import program
from heapsmith.bench.programs.micro_rows import MICRO
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c
from heapsmith.codegen.verify import VerifyReport
from heapsmith.model.design.design import Design, load
from heapsmith.model.errors import BadInput
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.tune import Tuned
from heapsmith.tools.common.other_memory import OtherMemory
from heapsmith.tools.common.preload import for_all, preload
from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.common.rounds import Stop, quiet
from heapsmith.tools.common.served_share import HELP
from heapsmith.tools.forge import forge
from heapsmith.tools.forge.forge import RUNS, Order, _kept
from heapsmith.tools.forge.page import read_report
from heapsmith.tools.forge.report import conclusion, markdown
from heapsmith.tools.forge.share import VARIABLE, Share, malloc_share, sampler_tool
from heapsmith.tools.record.record import RecordResult
from heapsmith.tools.record.unseen import RecordedTrace
from heapsmith.tools.report import hardening

pytestmark = pytest.mark.usefixtures("own_outcomes")

Call = Callable[..., Answer]
JOB = Path(__file__).resolve().parent.parent / "bench" / "programs" / "user_job.py"
COMMAND = ["env", "PYTHONMALLOC=malloc", sys.executable, str(JOB), "--rounds", "1", "--size", "300"]
RESULTS = ["exit_status", "trace", "tuned", "simulated", "verified", "measured", "verdict", "replayed", "share"]
"""What a forge finds, in this order."""


@pytest.mark.thorough
def test_forge(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "my.job"
    out.mkdir()
    (out / "report.json").write_text("stale")
    answer = call("forge", "-o", out, "--rounds", "2", "--budget", "4s", "--", *COMMAND)
    report = json.loads((out / "report.json").read_text())
    assert answer.status == 0
    assert [line for line in answer.err.splitlines() if line] == [
        line for line in answer.err.splitlines() if re.match(r"\[\d/9\] |[^:]+: \d+%$", line)
    ]
    *_, files, last = answer.out.rstrip("\n").split("\n\n")
    assert files.splitlines() == report["files"]
    compare = f"heapsmith compare --rounds 20 --lib glibc --lib default --lib {out / 'libmy-job.so'} --"
    assert last == f"To decide it:\n{compare} {shlex.join(COMMAND)}"
    assert compare in (out / "report.md").read_text()
    assert all(Path(file).exists() for file in report["files"])
    assert [row["library"] for row in report["measured"]["rows"]] == ["glibc", "libdefault.so", "libmy-job.so"]
    assert all(row["same_output"] for row in report["measured"]["rows"])
    assert report["verified"]["ok"]
    assert json.loads(call("trace", "verify", out / "trace.hst", "--json").out)["events"] == report["trace"]["events"]
    assert call("generate", out / "design.toml", "-o", out / "c", "--check").status == 0
    page = re.sub(r"\n## (?:bytes on|finalists).*?(?=\n## )", "", (out / "report.md").read_text(), flags=re.DOTALL)
    assert page.count("\n|") == 31  # six tables, nineteen rows, beside the items that differ and the finalists
    assert [one["peak"]["bytes"]["committed"] for one in report["tuned"]["traces"][0]["ledgers"]] == [
        row["statistics"]["peak_committed"]["committed"] for row in report["simulated"]["rows"]
    ]
    assert report["replayed"]["glibc_bytes"]["asked"] == report["trace"]["peak_live_bytes"]
    assert "at the peak of the live bytes, measured" in (out / "report.html").read_text()
    assert "time of an operation, measured" in (out / "report.html").read_text()
    assert report["verdict"]["use"] is None  # two rounds
    assert read_report(out).tuned.design.name == "my-job"
    assert f'<p class="lead">{report["verdict"]["why"][0]}</p>' in (out / "report.html").read_text()
    assert report["verdict"]["why"][0] in (out / "report.md").read_text()
    assert report["other_memory"] == []
    other = OtherMemory(1, "job", 30 << 20, 1 << 20)
    told = msgspec.structs.replace(read_report(out), other_memory=[other])
    assert other.sentence() in conclusion(told)
    assert conclusion(told)[-1] == hardening.sentence(told.tuned.design)
    assert f"\n{other.sentence()}\n" in markdown(told)
    assert 0 <= report["share"]["inside"] < report["share"]["samples"]
    assert call("run", out / "libmy-job.so", "--", *COMMAND).out == call("run", "default", "--", *COMMAND).out


@pytest.mark.thorough
def test_the_share_of_malloc_is_sampled() -> None:
    """A loop of malloc and free spends its time there; the same loop without them, all in the program, does not."""
    library, (pair,) = library_of(load("default")), [row for row in MICRO if row.name == "mixed"]
    loops = [[str(program(pair.program, dry=dry)), "45000000", *pair.arguments.split()] for dry in (False, True)]
    much, little = (malloc_share(one, library, Ratio(1.0, 1.0, 1.0), Stop(1), quiet) for one in loops)
    assert much.samples > 10
    assert little.samples > 10
    assert little.part < 0.1 < 0.15 < much.part


def test_a_forked_child_has_samples_of_its_own(tmp_path: Path) -> None:
    """A parent computes, and its child ends at once: the child's counts come first, and are not the parent's."""
    library, listing = library_of(load("default")), tmp_path / "samples"
    listing.touch()
    words = ["perl", "-e", "$sum += $_ for 1 .. 6_000_000; fork or exit; wait"]
    preloaded = preload([for_all(sampler_tool().ready()).word, str(library)], {})
    added = {"LD_PRELOAD": preloaded, VARIABLE: str(listing)}
    subprocess.run(words, env={**os.environ, **added}, check=True)
    child, parent = (int(line.split()[0]) for line in listing.read_text().splitlines())
    assert parent > 10
    assert child < parent / 4


def test_few_samples_say_nothing_of_the_share() -> None:
    assert "unknown: there are 99 of the 100 samples" in Share("lib.so", 99, 0, 1.0).sentence()
    assert "malloc takes about 5% of the program's CPU time" in Share("lib.so", 100, 5, 1.0).sentence()


def test_traces_that_count_get_the_names_of_their_programs(tmp_path: Path) -> None:
    names = ["main", "a b", "a-b", "/opt/a+b.2", "", "x" * 300, "left-out"]
    traces = []
    for pid, name in enumerate(names):
        path = tmp_path / ("trace.hst" if not pid else f"trace.{pid}.0.hst")
        path.write_text(name)
        traces.append(RecordedTrace(str(path), pid, 0, 0, [name] if name else [], 1, 1, 0, 0, 0, 0, 0, 0, 0))
    result = RecordResult(0, 1, 1.0, traces, inlines=False, running=[], unwritten=[], interrupted=False)
    counted = [(Path(one.path), 0.1) for one in traces[:-1]]
    kept = _kept(result, counted, tmp_path / "trace.programs")
    assert [path.read_text() for path, _ in kept] == names[:-1]
    assert [path.name for path, _ in kept] == [
        *("trace.hst", "a-b.hst", "2-a-b.hst", "a+b.2.hst", "unnamed.hst", f"{'x' * 80}.hst")
    ]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["trace.hst", "trace.programs"]


class _Measures(Exception):
    """Ends a forge where it begins to measure."""


@pytest.mark.thorough
@pytest.mark.parametrize(("proof_s", "left_s"), [(10.0, 30.0), (100.0, 20.0)])
def test_building_and_proving_count_against_the_time_for_measuring(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, proof_s: float, left_s: float
) -> None:
    """By a clock that moves with the proof alone: half of the time is left in any case."""
    now, stops, verify = [1000.0], list[Stop](), forge.verify

    def slow(*words: Any, **options: Any) -> VerifyReport:
        now[0] += proof_s
        return verify(*words, **options)

    def measure(*_: Any, stop: Stop, **options: Any) -> None:
        stops.append(stop)
        raise _Measures

    monkeypatch.setattr(forge, "verify", slow)
    monkeypatch.setattr(forge, "measure", measure)
    order = Order(Asked(simulations=2), Stop(limit_s=40, clock=lambda: now[0]))
    job = ["perl", "-e", 'for (1..2000) { $h{$_} = "x" x ($_ % 90) }']
    with pytest.raises(_Measures):
        forge.forge(job, tmp_path, base=load("default"), name="x", order=order, say=lambda *_: None, progress=quiet)
    assert [(one.limit_s, one.least) for one in stops] == [(RUNS * left_s, LEAST_ROUNDS)]


@pytest.mark.thorough
def test_a_search_that_kept_the_base_measures_no_copy_of_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tune = forge.tune

    def kept(*words: Any, base: Design, name: str, **options: Any) -> Tuned:
        design = msgspec.structs.replace(base, name=name)
        return msgspec.structs.replace(tune(*words, base=base, name=name, **options), design=design, kept_base=True)

    monkeypatch.setattr(forge, "tune", kept)
    order = Order(Asked(simulations=2), Stop(5))
    job = ["perl", "-e", 'for (1..2000) { $h{$_} = "x" x ($_ % 90) }']
    told: list[str] = []
    words = {"order": order, "say": lambda _, text: told.append(text), "progress": quiet}
    report = forge.forge(job, tmp_path, base=load("default"), name="x", **words)
    assert told[-2:-1] == ["run the command under glibc, default"]
    for rows in (report.measured.rows, report.replayed.rows):
        assert [row.library for row in rows] == ["glibc", "libdefault.so"]
    same = "The search kept the base design: libx.so is the same as libdefault.so."
    assert same in markdown(report)
    assert "libx.so against" not in markdown(report)
    written = read_report(tmp_path)
    assert (written.verdict.to_base, written.verdict.why[1]) == (None, same)
    assert same in (tmp_path / "report.html").read_text()


def test_a_proof_that_takes_long_is_said_beforehand(monkeypatch: pytest.MonkeyPatch) -> None:
    long = ["steps 4 to 7 take about 50 s, of the 30 s for them and for measuring"]
    events = round(45 / forge.PROOF_EVENT_S)
    for slow, many, said in ((1.0, 0, []), (10.0, 0, long), (1.0, events, long)):
        monkeypatch.setattr(forge, "slowness", lambda _, slow=slow: slow)
        assert forge._slow_proof(Stop(limit_s=30), many) == said
        assert forge._slow_proof(Stop(5), many) == []


@pytest.mark.big
def test_forge_for_a_command_of_two_programs_as_json(call: Call, tmp_path: Path) -> None:
    (pair,) = [row for row in MICRO if row.name == "mixed"]
    other = [str(program(pair.program)), "20000", *pair.arguments.split()]
    both = ["sh", "-c", f"{shlex.join(COMMAND)} && {shlex.join(other)}"]
    (tmp_path / "trace.programs").mkdir()
    (tmp_path / "trace.programs" / "stale.hst").write_text("stale")
    answer = call("forge", "-o", tmp_path, "--rounds", "1", "--budget", "4s", "--name", "tiny", "--json", "--", *both)
    report = json.loads(answer.out)
    assert report == json.loads((tmp_path / "report.json").read_text())
    assert report["tuned"]["design"]["name"] == "tiny"
    names = [one["trace"] for one in report["tuned"]["traces"]]
    assert names[0] == "trace.hst"
    assert len(names) == 2
    assert sum(one["weight"] for one in report["tuned"]["traces"]) == pytest.approx(1)
    assert [path.name for path in (tmp_path / "trace.programs").iterdir()] == names[1:]
    assert [path.name for path in tmp_path.glob("*.hst")] == names[:1]
    places = [str(tmp_path / names[0]), str(tmp_path / "trace.programs" / names[1])]
    assert [run["trace"] for run in report["verified"]["runs"][::2]] == places
    assert "the heap on each trace, predicted" in (tmp_path / "report.md").read_text()


@pytest.mark.big
def test_forge_compares_with_the_malloc_that_the_command_has(call: Call, tmp_path: Path) -> None:
    own = compile_c(
        [PROGRAMS / "rec_own_malloc.c"], tmp_path / "libown.so", flags=["-O1", "-fno-builtin", "-shared", "-fPIC"]
    )
    main = compile_c([PROGRAMS / "rec_own_main.c", own], tmp_path / "main", flags=["-O1", "-fno-builtin"])
    answer = call("forge", "-o", tmp_path / "out", "--rounds", "1", "--budget", "4s", "--json", "--", main)
    report = json.loads(answer.out)
    assert [row["library"] for row in report["measured"]["rows"]][:2] == ["glibc", "own (libown.so)"]
    assert [row["library"] for row in report["replayed"]["rows"]][:2] == ["glibc", "libown.so"]
    measured = "libdefault.so" if report["tuned"]["kept_base"] else "libout.so"
    assert (
        f"Do not use {measured}: the program does NOT behave as under own (libown.so)."
        in (tmp_path / "out" / "report.md").read_text()
    )


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("step", "number", "command"),
    [
        (1, signal.SIGINT, ["sleep", "60"]),
        pytest.param(1, signal.SIGINT, ["sh", "-c", "trap : INT; sleep 60; exit 0"], marks=pytest.mark.big),
        pytest.param(3, signal.SIGTERM, COMMAND, marks=pytest.mark.big),
        pytest.param(7, signal.SIGINT, COMMAND, marks=pytest.mark.big),
    ],
)
def test_an_interrupted_forge_leaves_no_half_written_file(
    tmp_path: Path, step: int, number: int, command: list[str]
) -> None:
    out = tmp_path / "job"
    heeding = ["env", "--default-signal=INT"]  # a suite in the background ignores it, and so would its children
    arguments = [*heeding, *PROGRAM, "forge", "-o", str(out), "--", *command]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, text=True, start_new_session=True) as process:
        assert process.stderr is not None
        assert any(line.startswith(f"[{step}/") for line in process.stderr)
        if step == 1:
            wait_for_child(process.pid, command[0])
        os.killpg(process.pid, number)
        said = process.stderr.read()
        assert process.wait() == 128 + number
    assert complaint(said) == f"[{step}/9] interrupted: {out / 'report.md'} says what is done\n"
    report = json.loads((out / "report.json").read_text())
    done = {1: 0, 3: 2, 7: 4}[step]
    assert report["missing"] == RESULTS[done:]
    assert [name for name in RESULTS if report["found"][name] is not None] == RESULTS[:done]
    assert f"**Ended in step {step} of 9, " in (out / "report.md").read_text()
    with pytest.raises(BadInput, match=f"the forge ended in step {step} of 9, "):
        read_report(out)
    assert processes_of_session(process.pid) == []
    whole = {1: ["trace.hst"], 3: ["trace.hst"], 7: ["c", "design.toml", "libjob.so", "trace.hst"]}
    reports = {"trace.programs", "report.md", "report.json"}
    assert sorted({path.name for path in out.iterdir()} - reports) == whole[step]
    subprocess.run([*PROGRAM, "trace", "verify", str(out / "trace.hst")], check=True)


def processes_of_session(session: int) -> list[str]:
    """The names of the processes of a session that have not ended."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            name, fields = path.read_text().rpartition(")")[::2]
            state, _, _, of_session = fields.split()[:4]
            found += [name] if int(of_session) == session and state not in "ZX" else []
    return found


def test_nothing_is_forged_for_a_program_that_was_not_recorded(call: Call, tmp_path: Path) -> None:
    """It ends with the recording: no search, no measurement, no verdict."""
    answer = call("forge", "-o", tmp_path / "out", "--", "env", "-i", "/usr/bin/perl", "-e", "$n += $_ for 1 .. 9e6")
    assert (answer.status, answer.out) == (1, "")
    first, second = answer.err.splitlines()
    assert first.startswith("[1/9] record env -i ")
    assert "nothing to forge for: the recorder did not see perl (" in second
    assert f"without LD_PRELOAD by env; {HELP}" in second
    assert not (tmp_path / "out" / "design.toml").exists()


def test_a_command_without_an_end_is_ended(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forge, "RECORD_S", 0.5)
    answer = call("forge", "-o", tmp_path, "--", "sleep", "600")
    assert answer.status == 1
    assert "sleep: had not ended after 0.5 s while it was recorded" in answer.err


def test_an_interrupted_run_leaves_no_process(tmp_path: Path) -> None:
    """A run without a limit, of which the interrupt reaches only this end."""
    waits = f"""
from heapsmith.tools.common.limited import run_limited
run_limited(["sh", "-c", "sleep 600 & touch '{tmp_path}/begun'; wait"], None)
"""
    arguments = ["env", "--default-signal=INT", sys.executable, "-c", waits]
    with subprocess.Popen(arguments, stderr=subprocess.DEVNULL, start_new_session=True) as process:
        while not (tmp_path / "begun").exists():
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.wait()
    assert processes_of_session(process.pid) == []


def test_long_work_writes_a_line_now_and_then(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Where standard error is no terminal: none in the first minute, then one for each."""
    clock = iter([0.0, 59.0, 61.0, 100.0, 122.0])
    monkeypatch.setattr(show.time, "monotonic", lambda: next(clock))
    lines = show._Lines()
    for done in range(4):
        lines("tune", done, 4)
    assert capsys.readouterr().err == "tune: 25%\ntune: 75%\n"


def wait_for_child(pid: int, name: str) -> None:
    """Until the command itself runs: the forge's own child has this name."""
    for _ in range(600):
        with suppress(FileNotFoundError, ProcessLookupError):  # another child may end meanwhile
            children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
            if any(Path(f"/proc/{child}/comm").read_text() == f"{name}\n" for child in children):
                return
        time.sleep(0.1)
    raise AssertionError("the command never began")


def test_traces_that_the_search_does_not_see(
    call: Call, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are read before the command runs, and the search gets them, whose limits hold on them."""
    absent = call("forge", "-o", tmp_path / "out", "--hold-out", "absent.hst", "--", "touch", tmp_path / "ran")
    assert (absent.status, absent.err) == (
        2,
        "heapsmith: absent.hst: cannot read the trace: No such file or directory\n",
    )
    (tmp_path / "out").mkdir(exist_ok=True)
    shutil.copy(trace, tmp_path / "out" / "trace.hst")
    given = tmp_path / "out" / ".." / "out" / "trace.hst"
    its_own = call("forge", "-o", tmp_path / "out", "--hold-out", given, "--", "touch", tmp_path / "ran")
    assert (its_own.status, its_own.err) == (
        2,
        f"heapsmith: {given}: the forge writes its own trace there; expected another file to hold out\n",
    )
    assert not (tmp_path / "ran").exists()
    recorded = SimpleNamespace(exit_status=0, other_memory=[], wall_ns=1, warnings=list)
    recorded.traces = [SimpleNamespace(pid=1, events=9, command=["true"])]
    monkeypatch.setattr(forge, "_record", lambda *_: (recorded, [(trace, 1.0)]))
    monkeypatch.setattr(forge, "_programs", lambda *_: "")
    monkeypatch.setattr(forge, "trace_info", lambda *_, **__: None)

    def searched(*_: object, hold_out: Sequence[Path], **__: object) -> None:
        raise BadInput(f"held out: {[str(one) for one in hold_out]}")

    monkeypatch.setattr(forge, "tune", searched)
    answer = call("forge", "-o", tmp_path / "out", "--hold-out", trace, "--hold-out", trace, "--", "true")
    assert (answer.status, answer.err.splitlines()[-1]) == (2, f"heapsmith: held out: {[str(trace)] * 2}")
