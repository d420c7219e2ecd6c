"""Everyday programs under the recorder and two designs do what they do without; hangs and other outputs are seen."""

import shutil
import signal
from pathlib import Path

import msgspec
import pytest
from covering import soon

from heapsmith.bench.common.command import run as run_main
from heapsmith.bench.gates import everyday, everyday_page
from heapsmith.bench.gates.everyday import REFUSED, SAME, WAYS, Results, Row, compared, main, results, sampled, tried
from heapsmith.bench.gates.everyday_runs import Run, contents, prepare, programs, run, run_all
from heapsmith.model.errors import BadInput, CheckFailed

LOCKS = ["curl", "wget", "gpg", "perl"]
"""The first three allocate in a constructor that holds a lock of the C library."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everyday")
    prepare(folder)
    return folder


def test_the_list_holds_two_hundred_programs_and_their_versions() -> None:
    content = contents()
    assert len(content["jobs"]) > 220
    assert set(content["version"]) | set(content["made"]) | set(content["outside"]) < set(content["jobs"])
    assert {name for names in content["sample"].values() for name in names} < set(content["jobs"])


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(LOCKS, ("curl",)))
def test_the_same_in_every_way(name: str, inputs: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    assert [found for found, _ in tried(list(programs()[name]), inputs, 120)] == [dict.fromkeys(WAYS, SAME)] * 2


@pytest.mark.thorough
def test_a_program_that_cannot_be_served_is_refused_in_a_line(inputs: Path) -> None:
    said = sampled("static program", inputs, 120)
    path = inputs / "made/static"
    reason = "statically linked, so LD_PRELOAD has no effect on it"
    assert said == {everyday.DIRECTLY: f"{REFUSED}heapsmith: {path}: {reason}".replace(str(path), "MADE/static")}


@pytest.mark.big
def test_all_are_the_same(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    assert run_main(main, ["--json", str(out)]) == 0, out.read_text()
    assert len(results(out).rows) > 100


def test_what_differs_is_named() -> None:
    plain = Run(0, "words\n", "")
    assert compared(plain, plain, plain) == SAME
    assert compared(plain, plain, Run(None, "", "")) == "hangs"
    assert compared(plain, plain, Run(0, "other\n", "")) == "other output"
    assert compared(plain, Run(0, "third\n", ""), Run(0, "other\n", "")) == SAME
    assert compared(plain, plain, Run(-6, "words\n", "first\nlast\n")) == "status -6 for 0: last"
    assert compared(plain, plain, Run(0, "words\n", "more\n")) == "other errors: more"
    assert compared(plain, plain, Run(0, "words\n", "heapsmith: t.hst: 7 events of x\n")) == SAME
    assert compared(plain, plain, Run(2, "", "heapsmith: x: why\n")) == "refused: heapsmith: x: why"


@pytest.mark.thorough
def test_a_run_that_does_not_end_is_killed_with_its_children(inputs: Path) -> None:
    assert run("sleep 1000 & sleep 1000", [], inputs, 1).status is None


@pytest.mark.thorough
def test_many_commands_by_one_start(inputs: Path) -> None:
    """Each in a folder of its own, with its own end; one that hangs is killed alone."""
    commands = ["echo a > a; exit 3", "ls a; sleep 1000", "echo error >&2; kill $$", "ls words.txt"]
    first, second, third, last = run_all(commands, [], inputs, 2)
    assert (first.status, second.status) == (3, None)
    assert second.out == ""
    assert third.status == 128 + signal.SIGTERM
    assert third.errors.startswith("error\n")
    assert last == Run(0, "words.txt\n", "")


def test_a_way_that_fails_is_the_end_of_each(inputs: Path) -> None:
    assert [one.status for one in run_all(["true", "false"], ["sh", "-c", "exit 4"], inputs, 60)] == [4, 4]


def test_folders_may_have_spaces(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "two words"))
    (tmp_path / "two words").mkdir()
    assert run("ls words.txt", [], inputs, 300) == Run(0, "words.txt\n", "")
    assert run_all(["ls words.txt"], [], inputs, 300) == [Run(0, "words.txt\n", "")]


def test_faults_are_found(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way that changes the output, and one that fails."""
    monkeypatch.setattr(everyday, "WAYS", {"other": ["env", "A=7"], "fails": ["false"]})
    ((found, kept),) = tried(["echo 6$A"], inputs, 300)
    assert found == {"other": "other output", "fails": "status 1 for 0: "}
    assert kept == "status, output, errors"
    assert len(Row("echo", "", "", kept, found, found, {}).faults()) == 4


def test_a_program_that_is_not_here_is_a_mistake() -> None:
    with pytest.raises(BadInput, match=r"no-such: not in everyday\.toml"):
        run_main(main, ["no-such"])


def test_rows_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that the file holds does not run again."""
    known = Row("seq", "", "there", "", {"record": SAME}, {}, {})
    file = tmp_path / "rows.json"
    file.write_bytes(msgspec.json.encode(Results("", 1, [known])))
    monkeypatch.setattr(everyday, "programs", lambda: {"seq": ("false", "false")})
    monkeypatch.setattr(everyday, "prepare", lambda folder: None)
    assert everyday.everyday([], 1, file) == [known]


def test_the_page_is_of_the_rows(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert run_main(everyday_page.main, ["--check"]) == 0
    other = tmp_path / "everyday.md"
    other.write_text(everyday_page.PAGE.read_text().replace("same", "other", 1))
    monkeypatch.setattr(everyday_page, "PAGE", other)
    with pytest.raises(CheckFailed, match=r"everyday\.md is not made of everyday\.json"):
        run_main(everyday_page.main, ["--check"])


def test_each_exception_has_its_reason_and_each_reason_its_exception() -> None:
    rows = results(everyday_page.FIGURES).rows
    assert len(rows) >= 200
    assert {row[0] for row in everyday_page.exceptions(rows)} == set(contents()["known"])
