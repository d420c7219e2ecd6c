"""The house's law: who may import whom, what each file's first line is, and that every data file reaches the wheel."""

import ast
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from heapsmith.bench.gates import architecture
from heapsmith.model import policy

pytestmark = pytest.mark.quick

ROOT = Path(__file__).resolve().parent.parent
DATA = {"templates", "runtime", "generated"}
PRODUCT = ("model", "codegen", "tools")
"""The parts of the product, leftmost first; the command line and the Python interface stand on them."""
LABORATORY = "bench"
"""Stands on all, and nothing of the product imports it: it is in no wheel."""
SRC = {path.stem for path in (ROOT / "src/heapsmith").iterdir() if not path.is_symlink()}
MAY_IMPORT = {
    "model": {"model"},
    "codegen": {"model", "codegen"} | DATA,
    "tools": {"model", "codegen", "tools"} | DATA,
    "src": {*PRODUCT, *SRC} | DATA,
    "bench": {*PRODUCT, *SRC, "bench"} | DATA,
}
ORDER = {
    "model": ["compile", "trace", "memory", "parts", "policy", "design", "heap", "predict", "search", "knobs"],
    "tools": [
        "common",
        "peers",
        "record",
        "sites",
        "ci",
        "compare",
        "knobs",
        "top",
        "replay",
        "calibrate",
        "sweep",
        "trial",
        "report",
        "page",
        "profiles",
        "sampled",
        "running",
        "forge",
    ],
    "bench": [
        "common",
        "peers",
        "programs",
        "validate",
        "suite",
        "experiments",
        "attacks",
        "soak",
        "studies",
        "gates",
        "commands",
    ],
}
"""The packages of a part, leftmost first: each imports itself and packages to its left.

A part's modules outside its packages stand leftmost of all, and the begin of its command line rightmost."""
KERNELS = {"kernel", "hit_path", "large_hit_path", "lowered"}
PYTHON = [path for folder in (*MAY_IMPORT, *DATA, "tests") for path in sorted((ROOT / folder).rglob("*.py"))]
C = [path for suffix in ("c", "h") for path in sorted((ROOT / "runtime").rglob(f"*.{suffix}"))]


parsed = cache(architecture.parsed)


@cache
def imported(path: Path) -> set[str]:
    return architecture.imports_of(parsed(path))


@pytest.mark.parametrize("part", MAY_IMPORT)
def test_imports_only_go_left(part: str) -> None:
    files = sorted((ROOT / part).rglob("*.py"))
    assert files
    for path in files:
        parts = {name.split(".")[0] for name in imported(path)}
        assert parts <= MAY_IMPORT[part], f"{path} imports {parts - MAY_IMPORT[part]}"


@pytest.mark.parametrize("part", ORDER)
def test_packages_import_only_packages_to_their_left(part: str) -> None:
    packages = [*ORDER[part], "__main__"]
    assert {path.parent.name for path in (ROOT / part).glob("*/__init__.py")} == set(ORDER[part])
    outside = {path.stem for path in (ROOT / part).glob("*.py")} - {"__main__"}
    for path in sorted((ROOT / part).rglob("*.py")):
        own = path.relative_to(ROOT / part).parts[0].removesuffix(".py")
        allowed = outside.union(packages[: packages.index(own) + 1] if own in packages else ())
        found = {name.split(".")[1] for name in imported(path) if name.startswith(f"{part}.")}
        assert found <= allowed, f"{path} imports {found - allowed}"


def test_the_interface_does_not_know_the_command_line() -> None:
    """`src/heapsmith` is two packages, the begin of the program, pytest's plugin, assistants' guide, and links."""
    package = ROOT / "src/heapsmith"
    own = {path.name for path in package.iterdir() if not path.is_symlink() and path.name != "__pycache__"}
    assert own == {"__init__.py", "__main__.py", "llms.txt", "py.typed", "pytest_plugin.py", "api", "commands"}
    files = sorted((package / "api").glob("*.py"))
    assert len(files) > 5
    for path in files:
        assert not {name for name in imported(path) if name.split(".")[0] == "commands"}, path
        assert "typer" not in path.read_text(), path


def test_no_circle_of_modules_in_the_model() -> None:
    """The package of a table of policies imports all modules of its folder (rows_of)."""
    modules = {module_name(path): path for path in sorted((ROOT / "model").rglob("*.py"))}
    graph: dict[str, set[str]] = {}
    for module, path in modules.items():
        found = {name if name in modules else name.rpartition(".")[0] for name in imported(path)}
        if "rows_of(__name__" in path.read_text():
            found |= {module_name(row) for row in path.parent.glob("*.py") if row != path}
        graph[module] = found
    assert sum(map(len, graph.values())) > 100
    TopologicalSorter(graph).prepare()  # CycleError names a circle


def module_name(path: Path) -> str:
    """The name by which a module is imported, without the prefix heapsmith."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


def functions() -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    """The functions of the product's modules, each with where it stands."""
    for path in PYTHON:
        if path.relative_to(ROOT).parts[0] != "tests":
            for node in architecture.statements(parsed(path).body):
                if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{path}:{node.lineno}: {node.name}", node


def decorators(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The last names of a function's decorators: `command` for @app.command()."""
    called = [node.func if isinstance(node, ast.Call) else node for node in function.decorator_list]
    return {ast.unparse(node).rpartition(".")[2] for node in called}


def test_functions_are_short_and_take_few_values() -> None:
    """A kernel takes a state; a command of the command line has a parameter for each of its options."""
    kernels = 0
    for place, function in functions():
        marks, arguments = decorators(function), function.args
        taken = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        count = sum(parameter.arg not in ("self", "cls") for parameter in taken)
        is_kernel = bool(marks & KERNELS)
        kernels += is_kernel
        most = 6 if is_kernel else 8
        assert count <= most or "command" in marks, f"{place} has {count} parameters, {most} at most"
        assert (function.end_lineno or 0) - function.lineno < 60, f"{place} is longer than 60 lines"
    assert kernels > 100


def test_every_module_says_its_purpose_and_is_short() -> None:
    for path in PYTHON:
        text = path.read_text()
        purpose = (ast.get_docstring(parsed(path)) or "").partition("\n")[0]
        assert len(purpose) > 20, f"{path}: no docstring whose first line says its purpose"
        assert text.count("\n") < 400, f"{path}: 400 lines or more"
    for path in C:
        first = path.read_text().partition("\n")[0]
        assert first.startswith("/*"), f"{path}: its first line is no comment that says its purpose"
        assert path.read_text().count("\n") < 400, f"{path}: 400 lines or more"


def test_a_template_reads_as_c() -> None:
    """Its comments end where they begin, and no C is put together out of pieces of text."""
    templates = sorted((ROOT / "templates").rglob("*.j2"))
    assert templates
    for path in templates:
        text = path.read_text()
        assert text.startswith("{# "), f"{path}: its first line is no comment that says its purpose"
        assert text.count("/*") == text.count("*/"), f"{path}: a comment begins or ends in another file"
        assert not re.search(r"\{[{%][^}]*~[^}]*[}%]\}", text), f"{path}: C as pieces of text"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The wheel built from a copy of the tree, and the one built from its sdist."""
    work = tmp_path_factory.mktemp("wheels")
    unwanted = shutil.ignore_patterns(".*", "out", "build", "dist", "__pycache__", "*.egg-info")
    shutil.copytree(ROOT, work / "tree", symlinks=True, ignore=unwanted)
    build = "from setuptools import build_meta; print(build_meta.build_{}({!r}))"
    for kind, out in (("sdist", work / "sdist"), ("wheel", work / "wheel")):
        out.mkdir()
        subprocess.run(
            [sys.executable, "-c", build.format(kind, str(out))],
            cwd=work / "tree",
            check=True,
            stdout=subprocess.DEVNULL,
        )
    (archive,) = (work / "sdist").glob("*.tar.gz")
    shutil.unpack_archive(archive, work / "unpacked")
    (unpacked,) = (work / "unpacked").iterdir()
    (work / "again").mkdir()
    subprocess.run(
        [sys.executable, "-c", build.format("wheel", str(work / "again"))],
        cwd=unpacked,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    return [*(work / "wheel").glob("*.whl"), *(work / "again").glob("*.whl")]


@pytest.mark.thorough
@pytest.mark.slow
def test_every_file_reaches_the_wheel(wheels: list[Path]) -> None:
    assert len(wheels) == 2
    wanted = {
        f"heapsmith/{path.relative_to(ROOT)}"
        for part in (*PRODUCT, *DATA)
        for path in (ROOT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    } - {"heapsmith/templates/check.yml"}  # GitLab's component, which is of the repository
    assert len(wanted) > 50
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            assert wanted - set(packed.namelist()) == set()
            (metadata,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            text = packed.read(metadata).decode()
        assert "| debug misuse of memory (docs/howto/debug-misuse.md) | `heapsmith run hardened -- CMD` |" in text
        assert re.findall(r"\]\((?!https?:)[^)]*\)", text) == []  # an index has no files that a link could lead to


IMPORT_ALL = """
import importlib, pathlib, pkgutil, sys
import heapsmith
assert pathlib.Path(heapsmith.__file__).is_relative_to(sys.argv[1]), heapsmith.__file__
for module in pkgutil.walk_packages(heapsmith.__path__, "heapsmith."):
    if not module.name.endswith("__main__"):
        importlib.import_module(module.name)
        print(module.name)
"""


@pytest.mark.thorough
@pytest.mark.slow
def test_what_is_installed_works_without_the_laboratory(wheels: list[Path], tmp_path: Path) -> None:
    """No file of it is in a wheel, and all modules of a wheel can be imported, those of no other place."""
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            assert [name for name in packed.namelist() if name.startswith(f"heapsmith/{LABORATORY}")] == []
            packed.extractall(tmp_path)
    python = [sys.executable, "-c", IMPORT_ALL, str(tmp_path)]
    told = subprocess.run(
        python, env=os.environ | {"PYTHONPATH": str(tmp_path)}, check=True, capture_output=True, text=True
    )
    assert len(told.stdout.splitlines()) > 200


def named(requirement: str) -> str:
    """The name of the package in a line such as `dask[distributed]>=2025.1`."""
    return re.split(r"[\[<>=~!; ]", requirement)[0].lower()


def outer_modules(path: Path) -> set[str]:
    """The packages that a module imports anywhere in it, each by its first name."""
    names: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names.add(node.module)
    return {name.partition(".")[0] for name in names}


@pytest.mark.thorough
def test_mypy_may_miss_what_only_other_extras_bring() -> None:
    """`make check` runs with the extra dev alone, where packages of other extras are not installed."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    always = {named(line) for line in [*project["project"]["dependencies"], *extras["dev"]]}
    sometimes = {named(line) for lines in extras.values() for line in lines} - always - {"heapsmith"}
    known = {name for rule in project["tool"]["mypy"]["overrides"] for name in rule["module"]}
    stubs = {name.removeprefix("types-") for name in always if name.startswith("types-")}
    of_module = {name: {one.lower() for one in found} for name, found in packages_distributions().items()}
    files = [path for part in MAY_IMPORT for path in (ROOT / part).rglob("*.py")]
    absent = {
        name for path in files for name in outer_modules(path) if of_module.get(name, set()) & (sometimes - stubs)
    }
    assert {f"{name}.*" for name in absent} - known == set()


def test_make_help_lists_every_target() -> None:
    targets = re.findall(r"^\.PHONY: (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)[0].split()
    outside = {name: value for name, value in os.environ.items() if name not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")}
    make = subprocess.run(["make", "help"], cwd=ROOT, env=outside, check=True, capture_output=True, text=True)
    assert [line.split()[1] for line in make.stdout.splitlines()] == targets


def prose(page: Path) -> list[str]:
    """The lines of a page in Markdown without its code and tables; a link counts by its text."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    return [re.sub(r"\]\([^)]*\)", "]", line) for line in text.splitlines() if not line.startswith("|")]


def test_pages_fit_their_width() -> None:
    readme = (ROOT / "README.md").read_text().splitlines()
    assert len(readme) <= 100
    assert max(map(len, readme)) <= 100
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
    assert len(pages) > 15
    for page in pages:
        assert [line for line in prose(page) if len(line) > 100] == [], page


PATIENCE = re.compile(r"\b(?:timeout(?:_s)?|TIMEOUT(?:_S)?)(?:: (?:float|int))? ?= ?([\d_.]+)|\balarm\((\d+)\)")


def test_tests_are_patient() -> None:
    """No test fails because the machine is busy: its programs get a minute and more, and its examples all time."""
    assert settings.default is not None
    assert (settings.default.deadline, settings.default.suppress_health_check) == (None, (HealthCheck.too_slow,))
    assert [match[0] for match in PATIENCE.finditer("timeout=9, alarm(9)")] == ["timeout=9", "alarm(9)"]
    for path in (ROOT / "tests").rglob("*.[pc]*"):
        if path.suffix in (".py", ".c", ".cc") and path != Path(__file__):
            for match in PATIENCE.finditer(path.read_text()):
                assert float(match[1] or match[2]) == 0 or float(match[1] or match[2]) >= 60, f"{path}: {match[0]}"


def sections(page: Path) -> set[str]:
    """The names that code hosts and the site give the headings of a page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    heads = (re.sub(r"\]\([^)]*\)", "]", head) for head in re.findall(r"^#+ (.*)$", text, re.MULTILINE))
    return {re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads}


def test_links_between_pages_lead_somewhere() -> None:
    """To a file that is there, and to a heading of it."""
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        text = re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
        for link, section in re.findall(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)", text):
            target = page.parent / link if link else page
            assert target.exists(), f"{page}: {link}"
            assert not section or section in sections(target), f"{page}: {link}#{section}"


def test_kinds_of_policies_are_named_in_their_own_files_alone() -> None:
    names = [name for field in policy.TABLES for name in policy.names(field)]
    words = re.compile(f"(?<![a-z])(?:{'|'.join(name for name in names if '_' in name)})")
    compared = re.compile(f"""[!=]= ["']({"|".join(names)})["']""")
    suffixes = {".py", ".c", ".h", ".j2"}
    files = [path for folder in (*MAY_IMPORT, *DATA - {"generated"}) for path in (ROOT / folder).rglob("*")]
    for path in (
        path for path in files if path.suffix in suffixes and not path.is_relative_to(ROOT / "src/heapsmith/")
    ):
        text = path.read_text()
        own = set(policy.names("front")) if path.parent.name == "front" else set()  # its rows are made of each other
        assert {name for name in words.findall(text)} <= {path.stem} | own, f"{path} names a kind of policy"
        assert compared.search(text) is None, f"{path} compares with the name of a kind of policy"
