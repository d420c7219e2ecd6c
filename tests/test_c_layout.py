"""The library's C: its layers and rooms, and that no file of it asks which policies a design has."""

import re
import shutil
from collections.abc import Iterable, Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import msgspec
import pytest

from heapsmith.codegen import rooms
from heapsmith.codegen.generate import TEMPLATES
from heapsmith.codegen.layers import HEAP, INCLUDED, RUNTIME, layers
from heapsmith.codegen.rooms import ASKED
from heapsmith.model import policy
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.release.budget import Params as Budget

pytestmark = pytest.mark.quick

PROGRAMS = {"recorder": {"recorder"}, "replay": {"replay"}, "verify": {"verify", "replay"}}
"""The programs of runtime/, and whose files each includes besides those of the heap's lowest layer."""

MOST_ROOMS = 12
"""Folders in a folder of runtime/."""

NO_CODE = re.compile(r'[ ]*/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|^#[^\n]*', re.MULTILINE | re.DOTALL)
DECLARES = re.compile(r"^\w[^{}]*?;$", re.MULTILINE)
DEFINES = re.compile(r"^(?!static (?!inline))\w[^;{}]*?(\w+)\([^;{}]*\)\n\{", re.MULTILINE)
CALLS = re.compile(r"(?<![\w.>])(\w+)\(")


EMITTED = {"plan.h", "rooms.h", "moments.h"}


@cache
def given() -> dict[str, set[str]]:
    """By the name under which the runtime asks for a row's file, all files that designs give."""
    found: dict[str, set[str]] = {}
    for plan in map(make_plan, map(load, builtin_names())):
        for asked, file in rooms.headers(plan).items():
            found.setdefault(asked, set()).add(file)
    return found


def in_one_room(header: str, name: str) -> bool:
    """Whether a file and its room's interface are both in one room: there each takes in the other."""
    return header.count("/") > 1 and header.rpartition("/")[0] == name.rpartition("/")[0]


Use = tuple[str, str, str]
"""A file of the library, another that it includes or calls, and how."""


def uses(heap: Path) -> Iterator[Use]:
    """Whenever a file of the library includes or calls what stands in another."""
    texts = {str(path.relative_to(heap)): path.read_text() for suffix in "ch" for path in heap.rglob(f"*.{suffix}")}
    code = {name: DECLARES.sub("", NO_CODE.sub("", text)) for name, text in sorted(texts.items())}
    defines = {name: set(DEFINES.findall(text)) for name, text in code.items()}
    for name, text in code.items():
        yield from ((name, header, "includes it") for header in INCLUDED.findall(texts[name]) if header not in EMITTED)
        asked = {header for asked in ASKED.findall(texts[name]) for header in given()[asked]}
        yield from ((name, header, "includes it") for header in asked if not in_one_room(header, name))
        calls = set(CALLS.findall(text)) - defines[name]
        for other, functions in defines.items():
            yield from ((name, other, f"calls {function}") for function in calls & functions)


def broken_laws(heap: Path) -> list[str]:
    """Includes and calls from a layer up to a higher one, and the circles of a layer's or a room's parts.

    plan.h, the moments and the functions of fast.c are emitted, and belong to no layer.
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
        "    pool_enter();",
        "    pool_enter();\n    malloc_trim(0);",
        "9_api/glibc.c is of a higher layer",
    ),
    "7_large/runs.h": (
        "#pragma once",
        '#pragma once\n#include "7_large/run_cache/run_cache.h"',
        "7_large has a circle: ",
    ),
    "8_threads/front/below.h": (
        "#pragma once",
        '#pragma once\n#include "8_threads/front/stack_over.h"',
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


STATIC = re.compile(r"^static (?!inline)[^(={;]*?\b(\w+)(?:\[[^\]]*\])*(?: = [^;]*)?;", re.MULTILINE)


def test_static_variables_of_the_runtime_have_names_of_their_own() -> None:
    """All of a library is one unit, in which C makes one variable of two declarations of one name."""
    owners: dict[str, list[Path]] = {}
    for source in sorted(HEAP.rglob("*.c")):
        for name in STATIC.findall(source.read_text()):
            owners.setdefault(name, []).append(source)
    assert len(owners) > 20
    assert {name: files for name, files in owners.items() if len(files) > 1} == {}


IF = re.compile(r"^ *# *(?:if|ifdef|ifndef|elif)\b(.*)", re.MULTILINE)
MACRO = r"\b(?!defined\b)[A-Za-z_]\w+"
MOST_IFS = 40
OF_THE_BUILD = {
    "HEAPSMITH_ARCHIVE",
    "HEAPSMITH_CHECKED",
    "BOUNDED",
    "SEQUENCE",
    "RTLD_DEEPBIND",
    "__clang__",
    "__cplusplus",
}
"""What the library's C may ask for: compiler, and how it is built or read."""
OF_A_SYSTEM = {
    "1_base/unwind.c": {"__GLIBC__"},
    "1_base/arch/arch.h": {"__x86_64__", "__aarch64__", "__riscv", "__riscv_xlen"},
    "1_base/libc.h": {"__GLIBC__"},
    "1_base/libc.c": {"__GLIBC__"},
    "1_base/page.h": {"PAGES_VARY"},
    "1_base/page.c": {"PAGES_VARY"},
    "9_api/view.c": {"PAGES_VARY"},
}
"""What these files alone may ask for: the processor, the C library, and whether pages vary. Others include them."""
PROCESSORS = re.compile(r"__(x86_64|amd64|aarch64|arm|riscv|i386)|_MSC_VER|_ia32_|\bxmmintrin\b")
IN_HEADERS_OF_PROGRAMS = {"stack_popped.j2", "stack_pushed.j2"}
"""heapsmith.h includes no file of the library."""


def questions(heap: Path) -> list[tuple[str, str]]:
    """Each preprocessor condition of the library's C: the file, and a macro that it asks for."""
    texts = {str(path.relative_to(heap)): path.read_text() for path in sorted(heap.rglob("*.[ch]"))}
    asked = [(name, condition.partition("/*")[0]) for name, text in texts.items() for condition in IF.findall(text)]
    return [
        (name, macro) for name, condition in asked for macro in re.findall(r"\b(?!defined\b)[A-Za-z_]\w+", condition)
    ]


def test_the_library_does_not_ask_which_policies_a_design_has() -> None:
    numbers = {name.upper() for name in (*policy.NUMBERS, *policy.CLASS_NUMBERS)}
    assert len(numbers) > 40
    assert not numbers & OF_THE_BUILD
    found = questions(HEAP)
    assert 5 < len(found) <= MOST_IFS
    allowed = {name: OF_THE_BUILD | OF_A_SYSTEM.get(name, set()) for name, _ in found}
    assert [(name, macro) for name, macro in found if macro not in allowed[name]] == []


def asking_for_processors(folders: Iterable[Path]) -> set[str]:
    """The C files and templates with words that only one processor knows, but for those that are there for one."""
    files = [file for folder in folders for file in folder.rglob("*") if file.suffix in (".c", ".h", ".j2")]
    own = HEAP / "1_base" / "arch"
    return {file.name for file in files if file.parent != own and PROCESSORS.search(file.read_text())}


def test_no_file_asks_for_the_processor() -> None:
    """A processor is one file of runtime/heap/1_base/arch."""
    names = {file.stem for file in (HEAP / "1_base" / "arch").iterdir()}
    assert names == {"arch", "plain", "x86_64", "aarch64", "riscv64"}
    assert asking_for_processors([RUNTIME, TEMPLATES]) == IN_HEADERS_OF_PROGRAMS


def test_a_question_for_the_processor_is_found(tmp_path: Path) -> None:
    (tmp_path / "planted.c").write_text("void pause(void) { __builtin_ia32_pause(); }\n#ifdef __aarch64__\n#endif\n")
    assert asking_for_processors([tmp_path]) == {"planted.c"}


@pytest.mark.parametrize(
    "planted", ["#ifdef DRAIN_INTERVAL", "#if defined SHARDS || defined __clang__", "# elif DRAIN_MOST > 0"]
)
def test_a_question_for_a_policy_is_found(planted: str, tmp_path: Path) -> None:
    shutil.copytree(HEAP, tmp_path / "heap")
    path = tmp_path / "heap/6_slabs/store.c"
    path.write_text(f"{path.read_text()}{planted}\n#endif\n")
    more = set(questions(tmp_path / "heap")) - set(questions(HEAP))
    assert {macro for _, macro in more} & {name.upper() for name in policy.NUMBERS}


def test_each_moment_is_performed_and_each_answer_has_a_moment() -> None:
    """A moment that no file performs, and a row that answers none of them, would be silent."""
    told = (RUNTIME.parent / "templates/moments.h.j2").read_text()
    emitted = set(re.findall(r"on_(\w+)\(", told))
    performed = {name for path in HEAP.rglob("*.[ch]") for name in re.findall(r"\bon_(\w+)\(", path.read_text())}
    limited = msgspec.structs.replace(load("default"), release=Budget(limit_percent=50))
    near = msgspec.structs.replace(load("processor"), shards=load("nodes").shards)
    designs = [limited, near, *map(load, builtin_names())]
    answered = {moment for design in designs for moment in rooms.answers(make_plan(design), told)}
    assert len(answered) > 15
    assert emitted <= performed
    assert answered == emitted


def test_names_of_the_view_end_with_a_zero() -> None:
    """In an array of NAME_BYTES: gcc 15 and clang 21 warn of one that has no room for it."""
    texts = [path.read_text() for path in HEAP.rglob("*.[ch]")]
    room = next(int(found[1]) for text in texts if (found := re.search(r"NAME_BYTES = (\d+)", text)))
    names = [
        name for text in texts for name in re.findall(r'(?:NUMBER|ADDRESS)\("([\w.]+)"|\{ "([\w.]+)", offsetof', text)
    ]
    fields = [pair for text in texts for pair in re.findall(r"FIELD\((\w+), (\w+)\)", text)]
    found = {*("".join(name) for name in names), *(".".join(pair) for pair in fields)}
    assert {"design", "class_plan.usable", "class_plan.transfer_at"} <= found
    assert [name for name in found if len(name) >= room] == []
