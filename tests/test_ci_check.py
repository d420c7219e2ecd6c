"""Does `check` fail for growth that is planted, at its line, and for nothing else?"""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer
from preloaded import PROGRAMS

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.design.design import load
from heapsmith.model.search import guard as watch
from heapsmith.model.search.workload import Workload
from heapsmith.tools.ci.baseline import FIGURES, NOTHING, Baseline, Function, Range
from heapsmith.tools.ci.check import Asked, Checked, Grown, Judged, grown, judged
from heapsmith.tools.ci.formats import FORMATS
from heapsmith.tools.ci.made import of_check, of_guard
from heapsmith.tools.ci.verdict import ROOTS, SERVICES, Verdict, service

Call = Callable[..., Answer]
Check = Callable[..., Answer]

SOURCE = "src/check_job.c"


def line_of(text: str) -> int:
    """The line of the program's source that has a text."""
    lines = (PROGRAMS / "check_job.c").read_text().splitlines()
    (number,) = (at for at, line in enumerate(lines, 1) if text in line)
    return number


@pytest.fixture
def check(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Runs `check` in a folder with a space whose program was built of src/check_job.c, two runs each."""
    folder = tmp_path / "a folder"
    (folder / "src").mkdir(parents=True)
    (folder / ".git").mkdir()
    (folder / SOURCE).write_text((PROGRAMS / "check_job.c").read_text())
    monkeypatch.chdir(folder)
    for name in (*ROOTS, *SERVICES, "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    compile_c([folder / SOURCE], folder / "job", flags=("-O1", "-g", "-fno-builtin"))

    def run(*words: object, options: tuple[str, ...] = ("--json",), runs: int = 2) -> Answer:
        return call("check", "--baseline", "b.json", "--runs", runs, *options, "--", "./job", *words)

    return run


def figures(found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {one["figure"]: one for one in found["figures"]}


@pytest.mark.thorough
def test_a_baseline_is_written_and_the_same_job_passes(check: Check) -> None:
    first = check(1000, options=())
    assert first.status == 0
    assert "b.json was written: nothing was compared" in first.out
    written = json.loads(Path("b.json").read_text())
    kept = sum(4000 + 10 * at for at in range(64))
    churned = sum(100 + at % 50 for at in range(1000))
    whole = {name: tuple(both) for name, both in written["figures"].items()}
    assert whole["allocations"] == (1064, 1064)
    assert whole["bytes asked for"] == (kept + churned,) * 2
    assert whole["peak bytes"][0] == kept + max(100 + at % 50 for at in range(1000))
    assert whole["peak blocks"] == (65, 65)
    assert whole["bytes at the end"] == whole["blocks at the end"] == (0, 0)
    functions = {one["name"]: one for one in written["functions"]}
    assert functions["churn"]["figures"][0] == [1000, 1000]
    assert (functions["keep"]["file"], functions["keep"]["line"]) == (SOURCE, line_of("memset(malloc"))
    before = Path("b.json").read_bytes()
    again = check(1000)
    assert (again.status, json.loads(again.out)["ok"]) == (0, True)
    assert json.loads(again.out)["functions"] == []
    assert Path("b.json").read_bytes() == before


@pytest.mark.thorough
def test_planted_growth_fails_at_its_line(check: Check, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    check(1000)
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("before\n")
    saved = tmp_path / "out.json"
    answer = check(1000, 300, options=("--format", "github", "--save", f"json={saved}"))
    assert answer.status == 1
    found = json.loads(saved.read_text())
    grown = {name for name, one in figures(found).items() if not one["ok"]}
    assert grown == {"allocations", "bytes asked for", "peak bytes", "peak blocks"} | {
        *("bytes at the end", "blocks at the end")
    }
    assert figures(found)["bytes at the end"]["growth"] is None
    assert [one["name"] for one in found["functions"]] == ["leak"]
    errors = [one for one in answer.out.splitlines() if one.startswith("::error ")]
    assert len(errors) == len(grown)
    assert all(one.startswith(f"::error file={SOURCE},line={line_of('malloc(500)')},") for one in errors)
    summary = (tmp_path / "summary.md").read_text()
    assert summary.startswith("before\n<!-- heapsmith check -->\n# heapsmith check: NOT ok\n")
    assert f"`{SOURCE}:{line_of('malloc(500)')}`" in summary
    assert "| leak |" in summary
    assert "commits" in summary
    assert "Tuning again" in summary


STILL = Workload(1, "", [], 0, [], [], *[0] * 7)
"""A workload of nothing."""


@pytest.mark.parametrize("each_function", [False, True])
def test_rows_of_functions_are_of_figures_that_failed(each_function: bool) -> None:
    """Of a function all figures rose by 30 %; of the whole the first fails, and the others are within the tolerance."""
    asked = Asked(["./job"], 2, 0.05, load("default"), Path.cwd(), each_function)
    whole = [judged(name, Range(1000, 1000), Range(1030, 1030), 0.05) for name in FIGURES]
    whole[0] = judged("allocations", Range(1000, 1000), Range(1100, 1100), 0.05)
    then, now = (
        Baseline(1, ["./job"], 2, {}, [Function("load_line", "job", SOURCE, 7, (Range(size, size),) * 6)], STILL)
        for size in (100, 130)
    )
    (row,) = grown(asked, then, now, whole)
    assert list(row.figures) == (list(FIGURES) if each_function else ["allocations"])
    whole[0] = judged("allocations", Range(1000, 1000), Range(1030, 1030), 0.05)
    assert len(list(grown(asked, then, now, whole))) == each_function


def judgement(pays: list[watch.Verdict], retuning: watch.Retuning) -> Verdict:
    """Of a program whose peak grew by one function."""
    ranges = Range(100, 100), Range(200, 200)
    figures = [Judged("peak bytes", *ranges, 1.0, "", False), Judged("allocations", NOTHING, NOTHING, 0.0, "", True)]
    makers = [Grown("load_line", "job", SOURCE, 7, {"peak bytes": ranges})]
    of = (["./job"], "b.json", 2, 0.05, False, figures, makers, "lean", pays, (4096, 8192), retuning, [])
    return of_check(Checked(*of), Path.cwd(), 5)


STEADY = watch.Verdict("waste", 1.0, 1.0, 1.1, True)
DRIFTS = watch.Verdict("size shift", 0.0, 0.5, 0.1, False)


@pytest.mark.parametrize(
    ("pays", "may_pay", "said"),
    [
        ([STEADY], False, "Tuning again hardly pays by size classes."),
        ([STEADY], True, "Tuning again may pay."),
        ([STEADY, DRIFTS], False, "Tuning again may pay by more than size classes: size shift drifted."),
        ([STEADY, DRIFTS], True, "Tuning again may pay: size shift drifted."),
    ],
)
def test_one_sentence_says_whether_to_tune_again(pays: list[watch.Verdict], may_pay: bool, said: str) -> None:
    found = judgement(pays, watch.Retuning(4096, 4000, 48, 0.03 if may_pay else 0.0, may_pay))
    about = [one for one in found.sentences if re.search("tun(e|ing) again", one, re.IGNORECASE)]
    assert len(about) == 1
    assert about[0].endswith(f"of the committed peak. {said}")


def test_a_figure_is_named_once() -> None:
    """A message stands beside its rule: a title of GitHub and SARIF, a case of JUnit, bold in Markdown."""
    found = judgement([STEADY], watch.Retuning(4096, 4000, 48, 0.0, False))
    assert [one.message for one in found.findings] == [
        "of load_line 100 B before, 200 B now; of the program 100 B before, 200 B now (+100.00%)"
    ]
    assert [one.message for one in found.cases] == ["100 B before, 200 B now", "0 before, 0 now"]
    assert "title=heapsmith check%3A peak bytes::of load_line 100 B before" in FORMATS["github"](found)
    assert "- **peak bytes** of load_line 100 B before" in FORMATS["markdown"](found)
    assert '"peak bytes: of load_line 100 B before' in FORMATS["gitlab"](found)
    recordings = watch.Guarded("lean", "b.json", ["a.hst"], False, [DRIFTS], [], watch.Retuning(9, 8, 4, 0.0, False))
    (drift,) = of_guard(recordings, Path.cwd()).findings
    assert (drift.rule, drift.message) == ("size shift", "0.000 before, 0.500 now, at most 0.100")


@pytest.mark.thorough
def test_growth_within_the_tolerance_passes(check: Check) -> None:
    check(1000)
    assert check(1053).status == 0
    assert check(1053, options=("--tolerance", "4.9%", "--json")).status == 1
    assert check(1100).status == 1
    assert check(500).status == 0  # less is never worse
    assert check(1100, options=("--update",)).status == 0
    assert check(1100).status == 0


@pytest.mark.thorough
def test_a_function_may_grow_within_a_whole_that_does_not(check: Check) -> None:
    check(1000, 0, 0, 100)
    words = (900, 0, 0, 200)
    assert check(*words).status == 0
    answer = check(*words, options=("--each-function", "--json"))
    found = json.loads(answer.out)
    assert (answer.status, found["ok"]) == (1, False)
    assert all(one["ok"] for one in found["figures"])
    assert [(one["name"], list(one["figures"])) for one in found["functions"]] == [
        ("churn_more", ["allocations", "bytes asked for"])
    ]
    errors = check(*words, options=("--each-function", "--format", "github")).out
    assert f"file={SOURCE},line={line_of('malloc(120)')}," in errors
    assert "<failure" in check(*words, options=("--each-function", "--format", "junit")).out


@pytest.mark.thorough
def test_what_differs_from_run_to_run_is_not_gated(check: Check) -> None:
    answer = check(-1, runs=3)
    assert answer.status == 0
    loose = {name for name, one in figures(json.loads(answer.out)).items() if one["why_not"]}
    assert loose == {"allocations", "bytes asked for"}
    later = check(-1, options=("--format", "text"))
    assert later.status == 0
    assert "Not stable from run to run, so not gated: allocations, bytes asked for." in " ".join(later.out.split())
    assert check(70_000).status == 0
    assert check(-1, 40).status == 1  # what is stable is gated still


def test_a_figure_is_judged_by_the_least_that_its_runs_allow() -> None:
    stable = Range(1000, 1001)
    assert judged("x", stable, Range(1051, 1200), 0.05).growth == pytest.approx(1051 / 1001 - 1)
    assert judged("x", stable, Range(1051, 1200), 0.05).ok
    assert not judged("x", stable, Range(1052, 1200), 0.05).ok
    assert judged("x", Range(20, 20), Range(21, 21), 0.05).ok  # 21 / 20 - 1 is more than 0.05 in floating point
    assert judged("x", Range(1000, 1006), Range(2000, 2000), 0.05).why_not
    assert judged("x", Range(1000, 1006), Range(2000, 2000), 0.05).ok
    assert not judged("x", Range(1000, 1006), Range(2000, 2000), 0.1).ok
    assert judged("x", Range(1000, 1001), Range(1001, 1001), 0.0).why_not  # without tolerance stable is equal
    assert judged("x", NOTHING, NOTHING, 0.0).growth == 0
    assert not judged("x", NOTHING, Range(1, 1), 9.0).ok


def test_what_cannot_be_checked_is_an_error(check: Check, call: Call) -> None:
    failed = check(10, 0, 7)
    assert (failed.status, failed.out) == (1, "")
    assert "heapsmith: run 1 of 2 of ./job 10 0 7 ended with status 7; expected 0" in failed.err
    assert not Path("b.json").exists()
    Path("b.json").write_text('{"version": 1}')
    assert check(10).status == 2
    assert "b.json: no baseline that `heapsmith check` wrote" in check(10).err
    for wrong, said in (
        (("--format", "junit", "--json"), "--json: with --format junit; expected one of both"),
        (("--save", "xml=a.xml"), "--save xml=a.xml: expected FORMAT=FILE with one of markdown, "),
        (("--save", "junit=no/a.xml"), "no/a.xml: cannot be written: there is no folder no"),
        (("--tolerance", "much"), "--tolerance: much; expected a share such as 5% or 0.05"),
    ):
        answer = check(10, options=wrong)
        assert (answer.status, answer.out) == (2, "")
        assert said in answer.err


@pytest.mark.parametrize(("variable", "value"), [("CI", "true"), ("CI", "1"), ("TF_BUILD", "True")])
def test_a_service_needs_a_baseline(check: Check, monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    """One that nobody committed would else be written in each run, and the check would pass for ever."""
    monkeypatch.setenv(variable, value)
    answer = check(10)
    assert (answer.status, answer.out) == (2, "")
    expected = (
        f"heapsmith: b.json: no such file, and {variable} is set; expected a baseline, or --update to write one\n"
    )
    assert answer.err == expected
    assert not Path("b.json").exists()


def test_a_user_is_no_service() -> None:
    assert [service(one) for one in ({}, {"CI": ""}, {"CI": "false"}, {"CI": "0", "TF_BUILD": "True"})] == [
        *("", "", "", "TF_BUILD")
    ]


@pytest.mark.thorough
def test_a_service_may_be_told_to_write_a_baseline(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    written = check(10, options=("--update",))
    assert (written.status, "b.json was written: nothing was compared" in written.out) == (0, True)
    assert check(10).status == 0
    assert check(10, 30).status == 1


@pytest.mark.thorough
def test_without_debug_information_the_baseline_is_the_place(check: Check) -> None:
    subprocess.run(["strip", "job"], check=True)
    check(1000)
    answer = check(1000, 300, options=("--format", "github"))
    assert answer.status == 1
    errors = [one for one in answer.out.splitlines() if one.startswith("::error ")]
    assert len(errors) == 6
    assert all(one.startswith("::error file=b.json,line=1,") for one in errors)
    assert re.search(r", by job\+0x[0-9a-f]+$", errors[0])


@pytest.mark.thorough
def test_notes_say_that_the_baseline_is_of_something_else(check: Check) -> None:
    check(1000)
    found = json.loads(check(1001, options=("--design", "lean", "--json")).out)
    assert found["notes"] == [
        "the baseline is of another command: ./job 1000",
        "the baseline was simulated under another design than lean: write it anew",
    ]
    assert found["pays"] is None
    assert found["ok"]
