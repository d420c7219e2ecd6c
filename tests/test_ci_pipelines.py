"""Do the action, GitLab's component, hooks and recipes run as they stand, and does planted growth fail in each?"""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.metadata import requires
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from preloaded import PROGRAMS

from heapsmith.bench.gates import chroot
from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.files import cache_dir
from heapsmith.tools.ci.verdict import SERVICES

ROOT = Path(__file__).resolve().parent.parent
ACTION, COMPONENT, HOOKS = ROOT / "action.yml", ROOT / "templates/check.yml", ROOT / ".pre-commit-hooks.yaml"
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
    return {"PATH": path, "HOME": str(folder.parent), "XDG_CACHE_HOME": cache, "CI": "true"} | variables


def ran(script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a step as runners do."""
    (folder.parent / "step.sh").write_text(script)
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(folder.parent / "step.sh")]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False)


Runs = Callable[[str, Path, Mapping[str, str]], subprocess.CompletedProcess[str]]
"""Runs a step, as `ran` does."""


def fits(schema: str, file: Path) -> bool:
    """Whether check-jsonschema finds nothing wrong with a file."""
    words = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema, str(file)]
    return subprocess.run(words, capture_output=True, text=True, check=False).returncode == 0


def test_each_file_fits_its_schema(tmp_path: Path) -> None:
    """The schema of GitLab is that of a document: a component has two, and a pipeline that includes it has one."""
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    assert fits("vendor.github-actions", ACTION)
    header, job = COMPONENT.read_text().split("\n---\n")
    including = recipe("include:")
    wrong = (
        header.replace("inputs:", "input:"),
        job.replace("script:", "scripts:"),
        including.replace("inputs:", "of:"),
    )
    for right, other in zip((header, job, including), wrong, strict=True):
        (tmp_path / "right.yml").write_text(right)
        (tmp_path / "wrong.yml").write_text(other)
        assert fits("vendor.gitlab-ci", tmp_path / "right.yml"), right
        assert not fits("vendor.gitlab-ci", tmp_path / "wrong.yml"), other


def test_the_workflow_fits_its_schema_and_has_inputs_of_the_action(tmp_path: Path) -> None:
    pytest.importorskip("check_jsonschema", reason="check-jsonschema is not installed")
    workflow = tmp_path / "memory.yml"
    for text, is_right in ((recipe("memory.yml"), True), (recipe("memory.yml").replace("runs-on:", "runs:"), False)):
        workflow.write_text(text)
        assert fits("vendor.github-workflows", workflow) is is_right
    workflow.write_text(recipe("memory.yml"))
    (found,) = documents(workflow)
    (given,) = (step["with"] for step in found["jobs"]["memory"]["steps"] if step.get("id") == "memory")
    (action,) = documents(ACTION)
    assert set(given) <= set(action["inputs"])
    outputs = re.findall(r"steps\.memory\.outputs\.(\w+)", workflow.read_text())
    assert set(outputs) <= set(action["outputs"])


def test_the_component_is_where_gitlab_looks_for_it_and_has_the_inputs_that_it_uses() -> None:
    """Of PROJECT/NAME@REF that is templates/NAME.yml."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")
    header, job = documents(COMPONENT)
    inputs = header["spec"]["inputs"]
    assert set(re.findall(r"\$\[\[ inputs\.(\w+) \]\]", COMPONENT.read_text())) == set(inputs)
    assert len(job) == 1
    ((given,),) = yaml.safe_load(recipe("include:")).values()
    project, _, name = given["component"].partition("@")[0].rpartition("/")
    assert (project, ROOT / f"templates/{name}.yml") == ("$CI_SERVER_FQDN/OWNER/heapsmith", COMPONENT)
    assert set(given["inputs"]) <= set(inputs)
    assert {name for name, one in inputs.items() if "default" not in one} <= set(given["inputs"])


def test_hooks_are_a_manifest() -> None:
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    words = [sys.executable, "-m", "pre_commit", "validate-manifest", str(HOOKS)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    commands = {hook["entry"] for hook in documents(HOOKS)[0]}
    assert commands == {"heapsmith check", "heapsmith guard"}


class Action:
    """The steps of action.yml with given inputs, in a workspace."""

    def __init__(self, workspace: Path, runs: Runs = ran, **inputs: str) -> None:
        (self.action,) = documents(ACTION)
        self.workspace, self.runs = workspace, runs
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
        return self.runs(step["run"], self.workspace, outside | files | own | variables)


@pytest.mark.thorough
def test_the_action_fails_for_planted_growth(workspace: Path) -> None:
    inputs = {"baseline": "a baseline.json", "options": "--runs 2 --tolerance '1%'", "reports": "the reports"}
    forgotten = Action(workspace, command="./job 1000", **inputs).step("Check")
    assert (forgotten.returncode, (workspace / "a baseline.json").exists()) == (2, False)
    assert "a baseline.json: no such file, and CI is set" in forgotten.stderr
    update = inputs | {"options": inputs["options"] + " --update"}
    first = Action(workspace, command="./job 1000", **update).step("Check")
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


SITE = next(path for path in sys.path if path.endswith("site-packages"))
OFFLINE = {"PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_NO_INDEX": "1", "PYTHONPATH": SITE}
"""Has pip take the packages of this environment in place of an index."""


def copied(folder: Path) -> Path:
    """A copy of what a checkout has to be installed."""
    unwanted = shutil.ignore_patterns(".*", "out", "build", "dist", "__pycache__", "*.egg-info", "tests", "docs")
    return shutil.copytree(ROOT, folder, symlinks=True, ignore=unwanted)


def git(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    who = ["-c", "user.name=A", "-c", "user.email=a@example.com", "-c", "init.defaultBranch=main"]
    environment = clean(folder, PRE_COMMIT_HOME=str(folder.parent / "hooks"), **OFFLINE) | {"CI": ""}
    command = ["git", *who, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.thorough
def test_a_push_with_planted_growth_is_refused(workspace: Path, tmp_path: Path) -> None:
    """By the hook as pre-commit installs it, and as the recipe has it."""
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    hooks = copied(tmp_path / "heap smith")
    shutil.copy(HOOKS, hooks)
    for words in ("init", "add --all", "commit --message=all", "tag REF"):
        assert git(hooks, *words.split()).returncode == 0
    config = recipe(".pre-commit-config.yaml").replace("https://github.com/OWNER/heapsmith", str(hooks))
    (workspace / ".pre-commit-config.yaml").write_text(config.replace("./build/job, input.txt", "./job, '1000'"))
    for words in ("init", "init --bare ../there", "remote add origin ../there", "add src .pre-commit-config.yaml"):
        assert git(workspace, *words.split()).returncode == 0
    installed = ran(recipe("pre-commit install"), workspace, clean(workspace))
    assert installed.returncode == 0, installed.stderr
    assert git(workspace, "commit", "--message=first").returncode == 0
    first = git(workspace, "push", "origin", "HEAD")
    assert (workspace / "job.check.json").exists(), first.stderr
    assert first.returncode == 0, first.stderr
    shutil.move(workspace / "job", workspace / "the job")
    (workspace / "job").write_text('#!/bin/sh\nexec "./the job" "$1" 30\n')
    (workspace / "job").chmod(0o755)
    assert git(workspace, "commit", "--allow-empty", "--message=grown").returncode == 0
    refused = git(workspace, "push", "origin", "HEAD")
    assert refused.returncode != 0
    assert SOURCE in refused.stdout + refused.stderr


@pytest.mark.thorough
def test_the_action_installs_what_it_needs(workspace: Path, tmp_path: Path) -> None:
    action = Action(workspace, command="./job 1000", options="--update")
    action.values["github.action_path"] = str(copied(tmp_path / "action"))
    python = {"PATH": f"{Path(sys.base_prefix) / 'bin'}:/usr/bin:/bin"}
    done = action.step("Install heapsmith", **OFFLINE, **python)
    assert done.returncode == 0, done.stderr
    (path,) = (action.runner / "path").read_text().splitlines()
    assert (Path(path) / "heapsmith").exists()
    outside = {"PATH": f"{path}:/usr/bin:/bin", "PYTHONPATH": SITE}
    checked = action.step("Check", **outside)
    assert checked.returncode == 0, checked.stderr


class Component:
    """The job of the component with given inputs, in a workspace. parts: its scripts that run, in one shell."""

    def __init__(self, workspace: Path, *parts: str, runs: Runs = ran, **inputs: str) -> None:
        header, jobs = documents(COMPONENT)
        (self.job,) = jobs.values()
        self.workspace, self.runs = workspace, runs
        self.script = "\n".join(line for part in parts for line in self.job[part])
        self.inputs = {name: one.get("default", "") for name, one in header["spec"]["inputs"].items()} | inputs

    def run(self, **more: str) -> subprocess.CompletedProcess[str]:
        values = self.inputs | more
        variables = {
            name: re.sub(r"\$\[\[ inputs\.(\w+) \]\]", lambda found: values[found[1]], text)
            for name, text in self.job["variables"].items()
        }
        around = clean(self.workspace, CI_PROJECT_DIR=str(self.workspace), **variables)
        return self.runs(self.script, self.workspace, around)

    def report(self, kind: str) -> Path:
        """A report that the job leaves for GitLab."""
        return self.workspace / self.job["artifacts"]["reports"][kind]


@pytest.mark.thorough
def test_the_component_of_gitlab_fails_for_planted_growth(workspace: Path) -> None:
    component = Component(workspace, "script", command="./job 1000", options="--runs 2")
    assert component.run().returncode == 2
    assert component.run(options="--runs 2 --update").returncode == 0
    assert component.run().returncode == 0
    done = component.run(command="./job 1000 30")
    assert done.returncode == 1, done.stderr
    quality = json.loads(component.report("codequality").read_text())
    assert {one["location"]["path"] for one in quality} == {SOURCE}
    suite = ElementTree.parse(component.report("junit")).getroot()
    assert int(suite.get("failures", "0")) == len(quality)


class Chroot:
    """A Debian of its own, with Python, a compiler, this checkout at /action, and packages in place of an index."""

    def __init__(self, root: Path) -> None:
        self.root, self.workspace = root, root / "builds/work"
        copied(root / "action")
        needs = [one for one in requires("heapsmith") or [] if "extra ==" not in one]
        version = chroot.inside(root, ["python3", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"]).stdout
        how = ["--quiet", "--only-binary=:all:", "--python-version", version.strip(), "--dest", str(root / "wheels")]
        subprocess.run([sys.executable, "-m", "pip", "download", *how, "setuptools", *needs], check=True)
        (self.workspace / "src").mkdir(parents=True)
        shutil.copy(PROGRAMS / "check_job.c", self.workspace / SOURCE)
        built = self.runs(f"gcc -O1 -g -fno-builtin {SOURCE} -o job", self.workspace, {})
        assert built.returncode == 0, built.stderr

    def runs(self, script: str, folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
        """Run a step: paths below the root become those of the system in it."""
        (self.root / "step.sh").write_text(script)
        path = environment["PATH"] if "/heapsmith/" in environment.get("PATH", "") else "/usr/bin:/bin"
        own = {"PATH": path, "HOME": "/root", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "/wheels"}
        around = {name: value for name, value in environment.items() if name != "XDG_CACHE_HOME"} | own
        words = [f"{name}={value.replace(str(self.root), '')}" for name, value in around.items()]
        shell = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "/step.sh"]
        return chroot.inside(self.root, ["env", "-C", f"/{folder.relative_to(self.root)}", *words, *shell])


@pytest.mark.big  # a Debian comes from its mirror, packages of Python from PyPI
@pytest.mark.timeout(3600)
def test_in_a_clean_chroot_planted_growth_fails(tmp_path: Path) -> None:
    if os.geteuid() != 0 or not shutil.which("debootstrap"):
        pytest.skip("expected root and debootstrap (package debootstrap)")
    chroot.debian(tmp_path / "root", "python3,python3-venv,gcc,libc6-dev,binutils,ca-certificates")
    there = Chroot(tmp_path / "root")
    first = Action(there.workspace, there.runs, command="./job 1000", options="--update")
    first.values["github.action_path"] = "/action"
    done = first.step("Install heapsmith")
    assert done.returncode == 0, done.stderr
    path = (first.runner / "path").read_text().strip() + ":/usr/bin:/bin"
    done = first.step("Check", PATH=path)
    assert done.returncode == 0, done.stderr
    planted = Action(there.workspace, there.runs, command="./job 1000 30").step("Check", PATH=path)
    assert planted.returncode == 1, planted.stderr
    assert f"::error file={SOURCE},line=" in planted.stdout
    own = {"command": "./job 1000", "package": "/action", "baseline": "gitlab.json"}
    component = Component(there.workspace, "before_script", "script", runs=there.runs, **own)
    done = component.run(options="--update")
    assert done.returncode == 0, done.stderr
    planted = component.run(command="./job 1000 30")
    assert planted.returncode == 1, planted.stderr
    assert {one["location"]["path"] for one in json.loads(component.report("codequality").read_text())} == {SOURCE}


def recipe(name: str) -> str:
    """The block of docs/ci.md whose first line names a file."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", (ROOT / "docs/ci.md").read_text(), re.MULTILINE | re.DOTALL)
    (found,) = (block for block in blocks if name in block.partition("\n")[0])
    return found


def outside(folder: Path) -> dict[str, str]:
    """The environment of a user with heapsmith on the path."""
    around = {name: value for name, value in os.environ.items() if name not in SERVICES}
    return around | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}", "CI_PROJECT_DIR": str(folder)}


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
