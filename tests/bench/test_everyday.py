"""Everyday programs under the recorder and two designs do what they do without; hangs and other outputs are seen."""

import shutil
from pathlib import Path

import msgspec
import pytest
from covering import soon

from heapsmith.bench.common.command import run as run_main
from heapsmith.bench.gates import everyday
from heapsmith.bench.gates.everyday import SAME, WAYS, Row, Run, compared, main, prepare, programs, run, tried
from heapsmith.model.errors import BadInput

LOCKS = ["curl", "wget", "gpg", "perl"]
"""The first three allocate in a constructor that holds a lock of the C library."""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("everyday")
    prepare(folder)
    return folder


def test_the_list_holds_a_hundred_programs_and_their_versions() -> None:
    content = everyday.contents()
    assert len(content["jobs"]) > 140
    assert set(content["version"]) < set(content["jobs"])


@pytest.mark.thorough
@pytest.mark.parametrize("name", soon(LOCKS, ("curl",)))
def test_the_same_in_every_way(name: str, inputs: Path) -> None:
    if shutil.which(name) is None:
        pytest.skip(f"no {name}")
    version, job = programs()[name]
    assert tried(f"{version}; {job}", inputs, 120) == dict.fromkeys(WAYS, SAME)


@pytest.mark.big
def test_all_are_the_same(tmp_path: Path) -> None:
    out = tmp_path / "rows.json"
    assert run_main(main, ["--json", str(out)]) == 0, out.read_text()
    assert len(msgspec.json.decode(out.read_bytes(), type=list[Row])) > 100


def test_what_differs_is_named() -> None:
    plain = Run(0, "words\n", "")
    assert compared(plain, True, plain) == SAME
    assert compared(plain, True, Run(None, "", "")) == "hangs"
    assert compared(plain, True, Run(0, "other\n", "")) == "other output"
    assert compared(plain, False, Run(0, "other\n", "")) == SAME
    assert compared(plain, True, Run(-6, "words\n", "first\nlast\n")) == "status -6 for 0: last"


def test_a_run_that_does_not_end_is_killed_with_its_children(inputs: Path) -> None:
    assert run("sleep 1000 & sleep 1000", [], inputs, 1).status is None


def test_folders_may_have_spaces(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "two words"))
    (tmp_path / "two words").mkdir()
    assert run("ls words.txt", [], inputs, 300) == Run(0, "words.txt\n", "")


def test_faults_are_found(inputs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A way that changes the output, the status, or waits for ever."""
    ways = {"other": ["sh", "-c", "echo 7"], "fails": ["false"], "waits": ["sh", "-c", "exec sleep 1000"]}
    monkeypatch.setattr(everyday, "WAYS", ways)
    for limit_s in (1, 10, 100):  # a busy machine takes longer for the other ways
        found = tried("echo 6", inputs, limit_s)
        if list(found.values()).count("hangs") == 1:
            break
    assert found == {"other": "other output", "fails": "status 1 for 0: ", "waits": "hangs"}
    assert len(Row("echo", found, found).faults()) == 6


def test_a_program_that_is_not_here_is_a_mistake() -> None:
    with pytest.raises(BadInput, match=r"no-such: not in everyday\.toml"):
        run_main(main, ["no-such"])
