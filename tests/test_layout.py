"""The house's law: who may import whom, what each file's first line is, and that every data file reaches the wheel."""

import ast
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from heapsmith.codegen import rooms
from heapsmith.codegen.layers import HEAP, INCLUDED, RUNTIME, layers
from heapsmith.model import policy
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan

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
        "compare",
        "knobs",
        "top",
        "replay",
        "calibrate",
        "sweep",
        "report",
        "page",
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

PROGRAMS = {"recorder": {"recorder"}, "replay": {"replay"}, "verify": {"verify", "replay"}}
"""The programs of runtime/, and whose files each includes besides those of the heap's lowest layer."""

MOST_ROOMS = 12
"""Folders in a folder of runtime/."""

NO_CODE = re.compile(r'[ ]*/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^#[^\n]*', re.MULTILINE | re.DOTALL)
DECLARES = re.compile(r"^\w[^{}]*?;$", re.MULTILINE)
DEFINES = re.compile(r"^(?!static (?!inline))\w[^;{}]*?(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
CALLS = re.compile(r"(?<![\w.>])(\w+)\(")


def imported(path: Path) -> set[str]:
    """The modules of heapsmith that a module imports, without the prefix heapsmith; fails on a relative import."""
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: line {node.lineno} is a relative import"
            names = [f"{node.module}.{alias.name}" for alias in node.names if not alias.name.startswith("__")]
        modules |= {name.removeprefix("heapsmith.") for name in names if name.startswith("heapsmith.")}
    return modules


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
            for node in ast.walk(ast.parse(path.read_text())):
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
        purpose = (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]
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


Use = tuple[str, str, str]
"""A file of the library, another that it includes or calls, and how."""


def uses(heap: Path) -> Iterator[Use]:
    """Whenever a file of the library includes or calls what stands in another."""
    texts = {str(path.relative_to(heap)): path.read_text() for suffix in "ch" for path in heap.rglob(f"*.{suffix}")}
    code = {name: DECLARES.sub("", NO_CODE.sub("", text)) for name, text in sorted(texts.items())}
    defines = {name: set(DEFINES.findall(text)) for name, text in code.items()}
    for name, text in code.items():
        yield from ((name, header, "includes it") for header in INCLUDED.findall(texts[name]) if header != "plan.h")
        calls = set(CALLS.findall(text)) - defines[name]
        for other, functions in defines.items():
            yield from ((name, other, f"calls {function}") for function in calls & functions)


def broken_laws(heap: Path) -> list[str]:
    """Includes and calls from a layer up to a higher one, and the circles of a layer's or a room's parts.

    plan.h and the functions of fast.c are emitted, and belong to no layer.
    """
    names = [layer.name for layer in layers(heap)]
    found: list[str] = []
    graphs: dict[str, dict[str, set[str]]] = {}
    for name, other, how in uses(heap):
        own, its = name.split("/"), other.split("/")
        if names.index(its[0]) > names.index(own[0]):
            found.append(f"{name} {how}: {other} is of a higher layer")
        for depth in (1, 2):  # parts of a layer, parts of a room
            if own[:depth] == its[:depth] and own[depth].partition(".")[0] != its[depth].partition(".")[0]:
                graph = graphs.setdefault("/".join(own[:depth]), {})
                graph.setdefault(own[depth].partition(".")[0], set()).add(its[depth].partition(".")[0])
    for folder, graph in sorted(graphs.items()):
        try:
            TopologicalSorter(graph).prepare()
        except CycleError as circle:
            found.append(f"{folder} has a circle: {' <- '.join(circle.args[1])}")
    return found


def test_the_runtime_is_used_one_way() -> None:
    assert sum(1 for _ in uses(HEAP)) > 1000
    assert broken_laws(HEAP) == []


PLANTED = {
    "1_base/text.c": ('#include "1_base/text.h"', '#include "2_system/os.h"', "2_system/os.h is of a higher layer"),
    "2_system/lock.c": (
        "    futex(lock, FUTEX_WAKE",
        "    hs_lock_pool();\n    futex(lock, FUTEX_WAKE",
        "2_system has a circle: ",
    ),
    "6_slabs/slabs.c": (
        "    hs_lock_pool();",
        "    hs_lock_large();\n    malloc_trim(0);",
        "9_api/glibc.c is of a higher layer",
    ),
    "7_large/runs.h": ("#pragma once", '#pragma once\n#include "7_large/run_cache.h"', "7_large has a circle: "),
    "8_threads/front/list.h": (
        "#pragma once",
        '#pragma once\n#include "8_threads/front/two_level.h"',
        "8_threads/front has a circle: ",
    ),
}
"""A file of the library, a text of it, what stands there instead, and what the law says of it."""


@pytest.mark.parametrize("file", PLANTED)
def test_an_arrow_up_or_a_circle_is_found(file: str, tmp_path: Path) -> None:
    shutil.copytree(HEAP, tmp_path / "heap")
    old, new, said = PLANTED[file]
    path = tmp_path / "heap" / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    assert any(said in law for law in broken_laws(tmp_path / "heap"))


@pytest.mark.parametrize("name", ["default", "hardened", "owner-batch", "processor"])
def test_each_file_of_heap_c_follows_those_that_it_includes(name: str) -> None:
    sources = [str(source.relative_to(HEAP)) for source in rooms.sources(make_plan(load(name)))]
    assert [layer.name[:2] for layer in layers()] == [f"{number}_" for number in range(1, 1 + len(layers()))]
    assert sources == sorted(sources, key=lambda source: source[0])
    pairs = 0
    for at, source in enumerate(sources):
        for header in INCLUDED.findall((HEAP / source).read_text()):
            other = header.replace(".h", ".c")
            pairs += other in sources
            assert other not in sources[at + 1 :], f"{source} includes {header}"
    assert pairs > 90


def test_a_program_includes_its_own_files() -> None:
    """And the replayer's watchdog, and the lowest layer of the heap."""
    assert {path.name for path in RUNTIME.iterdir() if path.is_dir()} - {"__pycache__"} == {"heap", *PROGRAMS}
    lowest = layers()[0]
    checked = 0
    for program, others in PROGRAMS.items():
        for path in sorted((RUNTIME / program).rglob("*.[ch]")):
            for header in INCLUDED.findall(path.read_text()):
                file = (path.parent / header).resolve()
                checked += 1
                assert file.is_relative_to(lowest) or file.relative_to(RUNTIME).parts[0] in others, f"{path}: {header}"
    assert checked > 60


def test_the_picture_of_the_runtime_is_true() -> None:
    """It has each program, and each layer, highest first, with nothing else between; and every line says a purpose."""
    lines = (RUNTIME / "README.md").read_text().splitlines()
    assert len(lines) < 20
    picture = [line.split(maxsplit=1) for line in lines if line.startswith("    ")]
    heap = next(at for at, (name, _) in enumerate(picture) if name == "heap/")
    picture[heap] = picture[heap][1].split(maxsplit=1)
    names = [name.removesuffix("/") for name, _ in picture]
    assert names == [*PROGRAMS, *(layer.name for layer in reversed(layers()))]
    assert all(len(purpose) > 20 for _, purpose in picture)


def test_a_folder_of_the_runtime_holds_a_dozen_rooms_at_most() -> None:
    for folder in (RUNTIME, HEAP, *layers()):
        rooms = [entry.name for entry in folder.iterdir() if entry.is_dir() and entry.name != "__pycache__"]
        assert len(rooms) <= MOST_ROOMS, f"{folder}: {sorted(rooms)}"


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


STATIC = re.compile(r"^static (?!inline)[^(={;]*?\b(\w+)(?:\[[^\]]*\])*(?: = [^;]*)?;", re.MULTILINE)


def test_static_variables_of_the_runtime_have_names_of_their_own() -> None:
    """All of a library is one unit, in which C makes one variable of two declarations of one name."""
    owners: dict[str, list[Path]] = {}
    for source in sorted(HEAP.rglob("*.c")):
        for name in STATIC.findall(source.read_text()):
            owners.setdefault(name, []).append(source)
    assert len(owners) > 20
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}


def test_every_file_reaches_the_wheel(wheels: list[Path]) -> None:
    assert len(wheels) == 2
    wanted = {
        f"heapsmith/{path.relative_to(ROOT)}"
        for part in (*PRODUCT, *DATA)
        for path in (ROOT / part).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert len(wanted) > 50
    for wheel in wheels:
        with zipfile.ZipFile(wheel) as packed:
            assert wanted - set(packed.namelist()) == set()
            (metadata,) = [name for name in packed.namelist() if name.endswith(".dist-info/METADATA")]
            text = packed.read(metadata).decode()
        assert "| compare it with other mallocs, set theirs | peers (docs/peers.md), knobs (docs/knobs.md) |" in text
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
    assert len(readme) <= 150
    assert max(map(len, readme)) <= 100
    pages = [ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").glob("*.md"))]
    assert len(pages) > 15
    for page in pages:
        assert [line for line in prose(page) if len(line) > 100] == [], page


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")]:
        for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text()):
            assert (page.parent / link).exists(), f"{page}: {link}"


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
        assert {name for name in words.findall(text)} <= {path.stem}, f"{path} names a kind of policy"
        assert compared.search(text) is None, f"{path} compares with the name of a kind of policy"
