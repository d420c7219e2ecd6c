"""Do the action, GitLab's job, the hooks and the recipes run as they stand, and does planted growth fail in each?"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from preloaded import PROGRAMS

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.files import cache_dir

ROOT = Path(__file__).resolve().parent.parent
ACTION, JOB, HOOKS = ROOT / "action.yml", ROOT / "ci/gitlab/check.yml", ROOT / ".pre-commit-hooks.yaml"
SOURCE = "src/check_job.c"


def documents(path: Path) -> list[Any]:
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    return list(yaml.safe_load_all(path.read_text()))


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    """A checkout with a program, at a path with a space."""
    folder = tmp_path / "work space"
    (folder / "src").mkdir(parents=True)
    shutil.copy(PROGRAMS / "check_job.c", folder / SOURCE)
    compile_c([folder / SOURCE], folder / "job", flags=("-O1", "-g", "-fno-builtin"))
    return folder


def clean(folder: Path, **variables: str) -> dict[str, str]:
    """The environment of a runner: nothing of this process but the caches of what is compiled."""
    path = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
    cache = str(cache_dir().parent)
    return {"PATH": path, "HOME": str(folder.parent), "XDG_CACHE_HOME": cache} | variables


def ran(script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as runners do."""
    (folder.parent / "step.sh").write_text(script)
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(folder.parent / "step.sh")]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_each_file_fits_its_schema(tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    header, job = JOB.read_text().split("\n---\n")
    (tmp_path / "job.yml").write_text(job)
    assert set(documents(JOB)[0]) == {"spec"}
    for schema, file in (("vendor.github-actions", ACTION), ("vendor.gitlab-ci", tmp_path / "job.yml")):
        words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout
    used = set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", job))
    assert used == set(documents(JOB)[0]["spec"]["inputs"])
    assert "$[[" not in header


def test_hooks_are_a_manifest() -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    words = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    commands = {hook["entry"] for hook in documents(HOOKS)[0]}
    assert commands == {"heapsmith check", "heapsmith guard"}


class Action:
    """The steps of action.yml with given inputs, in a workspace."""

    def __init__(self, workspace: Path, **inputs: str) -> None:
        (self.action,) = documents(ACTION)
        self.workspace = workspace
        defaults = {name: one.get("default", "") for name, one in self.action["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in (defaults | inputs).items()}
        self.runner = workspace.parent / "runner"
        self.runner.mkdir(exist_ok=True)

    def value(self, text: str) -> str:
        """An expression of `||` as GitHub evaluates it."""
        return re.sub(r"\$\{\{ (.*?) \}\}", lambda found: self._first(found[1].split(" || ")), text)

    def _first(self, names: list[str]) -> str:
        return next((value for name in names if (value := self.values[name])), "")

    def step(self, name: str, **variables: str) -> subprocess.CompletedProcess[str]:
        (step,) = (one for one in self.action["runs"]["steps"] if one["name"] == name)
        assert step["shell"] == "bash"
        files = {f"GITHUB_{one}": str(self.runner / one.lower()) for one in ("OUTPUT", "PATH", "STEP_SUMMARY")}
        own = {key: self.value(value) for key, value in step["env"].items()}
        outside = clean(self.workspace, RUNNER_TEMP=str(self.runner), GITHUB_WORKSPACE=str(self.workspace))
        return ran(step["run"], self.workspace, outside | files | own | variables)


@pytest.mark.thorough
def test_the_action_fails_for_planted_growth(workspace: Path) -> None:
    inputs = {"baseline": "a baseline.json", "options": "--runs 2 --tolerance '1%'", "reports": "the reports"}
    first = Action(workspace, command="./job 1000", **inputs).step("Check")
    assert first.returncode == 0, first.stderr
    assert (workspace / "a baseline.json").exists()
    same = Action(workspace, command="./job 1000 '0'", **inputs).step("Check")
    assert same.returncode == 0, same.stderr
    planted = Action(workspace, command="./job 1000 30", **inputs)
    done = planted.step("Check")
    assert done.returncode == 1
    assert f"::error file={SOURCE},line=" in done.stdout
    reports = workspace / planted.value("${{ inputs.reports }}")
    assert sorted(one.name for one in reports.iterdir()) == ["check.json", "check.md", "check.sarif", "check.xml"]
    assert not json.loads((reports / "check.json").read_text())["ok"]
    assert (reports / "check.md").read_text() in (planted.runner / "step_summary").read_text()
    assert "reports=the reports\n" in (planted.runner / "output").read_text()


@pytest.mark.thorough
def test_the_action_installs_what_it_needs(workspace: Path, tmp_path: Path) -> None:
    """With the packages of this environment in place of an index."""
    unwanted = shutil.ignore_patterns(".*", "out", "build", "dist", "__pycache__", "*.egg-info", "tests", "docs")
    shutil.copytree(ROOT, tmp_path / "action", symlinks=True, ignore=unwanted)
    action = Action(workspace, command="./job 1000")
    action.values["github.action_path"] = str(tmp_path / "action")
    site = next(path for path in sys.path if path.endswith("site-packages"))
    offline = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PYTHONPATH": site}
    python = {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"}
    done = action.step("Install heapsmith", **offline, **python)
    assert done.returncode == 0, done.stderr
    (path,) = (action.runner / "path").read_text().splitlines()
    assert (Path(path) / "heapsmith").exists()
    outside = {"PATH": f"{path}:/usr/bin:/bin", "PYTHONPATH": site}
    checked = action.step("Check", **outside)
    assert checked.returncode == 0, checked.stderr


@pytest.mark.thorough
def test_the_job_of_gitlab_fails_for_planted_growth(workspace: Path) -> None:
    header, parsed = documents(JOB)
    (job,) = parsed.values()
    given = {"command": "./job 1000", "options": "--runs 2"}
    inputs = {name: one.get("default", "") for name, one in header["spec"]["inputs"].items()} | given

    def run(**more: str) -> subprocess.CompletedProcess[str]:
        values = inputs | more
        variables = {
            name: re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: values[found[1]], text)
            for name, text in job["variables"].items()
        }
        return ran("\n".join(job["script"]), workspace, clean(workspace, CI_PROJECT_DIR=str(workspace), **variables))

    assert run().returncode == 0
    assert run().returncode == 0
    done = run(command="./job 1000 30")
    assert done.returncode == 1, done.stderr
    quality = json.loads((workspace / job["artifacts"]["reports"]["codequality"]).read_text())
    assert {one["location"]["path"] for one in quality} == {SOURCE}
    suite = ElementTree.parse(workspace / job["artifacts"]["reports"]["junit"]).getroot()
    assert int(suite.get("failures", "0")) == len(quality)


def recipe(name: str) -> str:
    """The block of docs/ci.md whose first line names a file."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", (ROOT / "docs/ci.md").read_text(), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if name in block.partition("\n")[0])
    return found


def outside(folder: Path) -> dict[str, str]:
    """This process's environment with heapsmith on the path."""
    return os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "CI_PROJECT_DIR": str(folder)}


@pytest.mark.thorough
def test_the_recipe_for_ctest(workspace: Path) -> None:
    if not (shutil.which("cmake") and shutil.which("ctest")):
        pytest.skip("no cmake (package cmake)")
    (workspace / "CMakeLists.txt").write_text(recipe("CMakeLists.txt"))
    (workspace / "job.c").write_text((PROGRAMS / "check_job.c").read_text())

    def run() -> int:
        for words in (["cmake", "-B", "build", "."], ["cmake", "--build", "build"]):
            subprocess.run(words, cwd=workspace, check=True, capture_output=True)
        words = ["ctest", "--test-dir", "build", "--output-on-failure"]
        return subprocess.run(words, cwd=workspace, env=outside(workspace), check=False, capture_output=True).returncode

    assert run() == 0
    assert (workspace / "job.check.json").exists()
    assert run() == 0
    source = (workspace / "job.c").read_text()
    (workspace / "job.c").write_text(source.replace("    leak(leaked);\n", "    leak(30);\n"))
    assert run() != 0


RUST = """\
fn main() {
    let mut kept = Vec::new();
    for size in 1..200usize {
        kept.push(vec![1u8; 40 * size]);
    }
    println!("{}", kept.len());
}
"""


@pytest.mark.thorough
def test_the_recipe_for_cargo(workspace: Path) -> None:
    if not shutil.which("cargo"):
        pytest.skip("no cargo (package cargo)")
    (workspace / "Cargo.toml").write_text('[package]\nname = "job"\nversion = "0.1.0"\nedition = "2021"\n')
    (workspace / "tests").mkdir()
    (workspace / "tests/memory.rs").write_text(recipe("tests/memory.rs"))
    (workspace / "src/main.rs").write_text(RUST)

    def run() -> subprocess.CompletedProcess[str]:
        words = ["cargo", "test", "--offline", "--quiet"]
        return subprocess.run(words, cwd=workspace, env=outside(workspace), check=False, capture_output=True, text=True)

    first = run()
    assert first.returncode == 0, first.stdout + first.stderr
    assert (workspace / "job.check.json").exists()
    assert run().returncode == 0
    (workspace / "src/main.rs").write_text(RUST.replace("1..200usize", "1..220usize"))
    planted = run()
    assert planted.returncode != 0
    assert "src/main.rs" in planted.stdout + planted.stderr
