"""heapsmith.h: it makes of a program's calls what malloc and free make of them, and is nothing without its library."""

import re
import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from time import monotonic

import pytest
from conftest import Answer
from covering import soon
from loaded import checked_library, unchecked_library
from preloaded import PROGRAMS, start

import heapsmith
from heapsmith.codegen.audit import audit_emitted
from heapsmith.codegen.audit_header import audit_header
from heapsmith.codegen.build import build_archive
from heapsmith.codegen.generate import HEADER, generate, render
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design.design import ClassFront, Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import two_level as front_two_level

FRONTS = [
    ClassFront([32, 80, 1040], front_array_stack.Params(capacity=3, refill=2, flush=2)),
    ClassFront([48, 2064], front_two_level.Params(capacity=2, list_capacity=4, refill=2, flush=2, spill=1, promote=1)),
    ClassFront([64, 4112], front_fifo_ring.Params(capacity=4, refill=2, flush=2)),
]
MIXED = Design("mixed", [32, 48, 64, 80, 1040, 2064, 4112], classifier="header", class_front=FRONTS)
"""Stacks and another front, headers before the blocks, and stacks that are often full and empty."""
SMALL = Design("small", [32, 48, 64])

DESIGNS = {design.name: design for design in (load("default"), load("owner"), load("checks"), MIXED)}
INLINED = [name for name, design in DESIGNS.items() if make_plan(design).inline_alloc]
NAMES = soon(DESIGNS, ("default",), ("mixed",))
WARNINGS = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror"]
LITTLE = {resource.RLIMIT_AS: 60 << 20}
TURNS = {"plenty": (["40", "1000", "7", "3000"], None), "little memory": (["20", "8000", "7", "90000"], LITTLE)}
"""Arguments of header_twins, and limits: with little memory runs serve small requests, until there are none."""

Folder = Callable[[str], Path]
Call = Callable[..., Answer]


@lru_cache
def library(name: str, *, checked: bool = False) -> Path:
    return checked_library(DESIGNS[name]) if checked else unchecked_library(DESIGNS[name])


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """The folder with the C of a design."""

    @lru_cache
    def folder(name: str) -> Path:
        out = tmp_path_factory.mktemp(name)
        generate(DESIGNS[name], out)
        return out

    return folder


def compile_program(source: Path, out: Path, include: Path, *flags: object) -> Path:
    """A program that uses the heapsmith.h in a folder, linked with what the flags name."""
    compiler = [find_gcc().path, "-std=gnu17"] if source.suffix == ".c" else ["g++", "-std=c++17"]
    words = [*compiler, "-O2", "-pthread", f"-I{include}", f"-I{HEAP}", str(source), *map(str, flags)]
    done = subprocess.run([*words, "-o", str(out)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def linked(library: Path) -> list[str]:
    """Flags that link with a library, found where it lies; another one of its name may be put in its place."""
    return [str(library), f"-Wl,-rpath,{library.parent}", "-Wl,--enable-new-dtags"]


def compile_twins(include: Path, library: Path, out: Path) -> Path:
    return compile_program(PROGRAMS / "header_twins.c", out, include, *WARNINGS, *linked(library))


@pytest.fixture(scope="module")
def twins(emitted: Folder, tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """header_twins with the header of a design and its release build."""

    @lru_cache
    def program(name: str) -> Path:
        return compile_twins(emitted(name), library(name), tmp_path_factory.mktemp("twins") / name)

    return program


NO_END = 1 << 16


def ended(
    command: Sequence[str | Path], limits: Mapping[int, int] | None = None, timeout: float = 300, **environment: str
) -> tuple[int, str]:
    """The program's status and output; of a program that does not end a status that no other has."""
    try:
        done = start(command, limits=limits, environment=environment, timeout=timeout)
    except subprocess.TimeoutExpired:
        return NO_END, ""
    return done.returncode, done.stdout


@pytest.mark.parametrize("turns", TURNS)
@pytest.mark.parametrize("name", NAMES)
def test_addresses_and_counters_are_those_of_malloc_and_free(name: str, turns: str, twins: Folder) -> None:
    """In the release build, and with the checked one in its place, which counts every call and walks the heap."""
    words, limits = TURNS[turns]
    for checked in (False, True) if limits is None else (False,):
        folder = str(library(name, checked=checked).parent)
        expected = ended([twins(name), "plain", *words], limits, LD_LIBRARY_PATH=folder)
        assert expected[0] == 0
        assert len(expected[1].splitlines()) > 10_000
        assert ("\n-1\n" in expected[1]) == (limits is not None)
        assert ended([twins(name), "inlined", *words], limits, LD_LIBRARY_PATH=folder) == expected


WRONG = {
    "a run is pushed": ("place % 4096 == 0, 0", "place == 0, 0"),
    "a full stack is pushed": ("if (top == heap->end[row])", "if (top == NULL)"),
    "an empty stack is popped": ("if (block == NULL) /* empty", "if (heap == NULL) /* empty"),
    "another row": ("bytes <= 48 ? 3", "bytes <= 48 ? 4"),
    "another bound": ("bytes <= 64 ? 4", "bytes <= 63 ? 4"),
    "two are popped": ("subq $8", "subq $16"),
    "none is pushed": ("addq $8", "addq $0"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_wrong_header_is_noticed(wrong: str, emitted: Folder, tmp_path: Path) -> None:
    before, after = WRONG[wrong]
    text = (emitted("default") / HEADER).read_text()
    assert text.count(before) == 1
    (tmp_path / HEADER).write_text(text.replace(before, after))
    program = compile_twins(tmp_path, library("default"), tmp_path / "twins")
    words, limits = TURNS["little memory" if wrong == "a run is pushed" else "plenty"]
    begin = monotonic()
    expected = ended([program, "plain", *words], limits)
    patience = 1 + 5 * (monotonic() - begin)  # one of the wrong headers makes the program wait for ever
    assert ended([program, "inlined", *words], limits, patience) != expected


@pytest.mark.parametrize("name", soon(INLINED, ("default",), ("mixed",)))
def test_every_size_has_the_row_of_the_model(name: str, emitted: Folder, tmp_path: Path) -> None:
    plan = make_plan(DESIGNS[name])
    source = tmp_path / "rows.c"
    source.write_text(f"""#include "{HEADER}"
#include <stdio.h>
int main(void)
{{
    for (size_t bytes = 0; bytes <= {plan.small_limit + 1}; bytes++)
        printf("%zu\\n", hs_row_of(bytes));
    return 0;
}}
""")
    program = compile_program(source, tmp_path / "rows", emitted(name), *WARNINGS, *linked(library(name)))
    classes = [plan.size_class[-(-(n + plan.bias) // plan.grain)] for n in range(plan.small_limit + 1)]
    rows = [1 + index if plan.classes[index].stack else 0 for index in classes]
    assert list(map(int, ended([program])[1].split())) == [*rows, 0]


@pytest.mark.parametrize("name", NAMES)
def test_a_constant_size_gets_a_block_of_its_class(name: str, emitted: Folder, tmp_path: Path) -> None:
    """The ends of every class: the block is of the class, and back in its stack after hs_free_sized."""
    plan = make_plan(DESIGNS[name])
    sizes = sorted({size for row in plan.classes for size in (row.smallest_request, row.usable, row.usable + 1)})
    calls = "".join(f"void of_{n}(void) {{ ONE({n}) }}\n" for n in sizes)
    source = tmp_path / "sizes.c"
    source.write_text(f"""#include "{HEADER}"
#include <malloc.h>
#include <stdio.h>
#define ONE(bytes) void *p = hs_malloc(bytes); size_t row = malloc_usable_size(p); hs_free_sized(p, bytes); \\
    void *q = malloc(bytes); printf("%d %zu%s\\n", bytes, row, p == q ? "" : " lost"); free(q);
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
{calls}
int main(void)
{{
{"".join(f"    of_{n}();" for n in sizes)}
    return 0;
}}
""")
    program = compile_program(source, tmp_path / "sizes", emitted(name), *WARNINGS, "-O1", *linked(library(name)))
    last = plan.small_limit
    usable = [plan.classes[plan.size_class[-(-(n + plan.bias) // plan.grain)]].usable for n in sizes if n <= last]
    usable += [-(-n // plan.page_bytes) * plan.page_bytes for n in sizes if n > last]
    lines = ended([program])[1].splitlines()
    stacks = {row.usable for row in plan.classes if row.stack} | set(usable[len(usable) - 1 :])
    expected = [f"{n} {bytes}" for n, bytes in zip(sizes, usable, strict=True)]
    kept = [line for line, bytes in zip(lines, usable, strict=True) if bytes in stacks]
    assert kept == [line for line, bytes in zip(expected, usable, strict=True) if bytes in stacks]
    assert [line.removesuffix(" lost") for line in lines] == expected


@pytest.mark.parametrize("name", NAMES)
def test_first_use_by_a_thread_and_the_end_of_memory(name: str, emitted: Folder, tmp_path: Path) -> None:
    source = tmp_path / "first.c"
    bytes_64 = min(row.usable for row in make_plan(DESIGNS[name]).classes if row.usable >= 64)
    source.write_text((PROGRAMS / "header_first.c").read_text().replace("_64(", f"_{bytes_64}("))
    program = compile_program(source, tmp_path / "first", emitted(name), *WARNINGS, *linked(library(name)))
    for checked in (False, True):
        folder = str(library(name, checked=checked).parent)
        assert ended([program], LITTLE, LD_LIBRARY_PATH=folder) == (0, "1 1 1 1\n")


def test_the_library_of_another_design(emitted: Folder, twins: Folder, tmp_path: Path) -> None:
    """It does not link, it does not load, and preloaded it serves the program alone."""
    missing = f"hs_heap_{DESIGNS['default'].hash()}_"
    with pytest.raises(AssertionError, match=f"undefined reference to `{missing}"):
        compile_twins(emitted("default"), library("owner"), tmp_path / "wrong")
    words, _ = TURNS["plenty"]
    command: list[str | Path] = [twins("default"), "inlined", *words]
    (tmp_path / library("default").name).symlink_to(library("owner"))
    done = start(command, environment={"LD_LIBRARY_PATH": str(tmp_path)})
    assert (done.returncode, done.stdout) == (127, "")
    assert f"undefined symbol: {missing}" in done.stderr
    preloaded = start(command, library("owner"))
    assert (preloaded.returncode, preloaded.stdout) == ended([twins("owner"), "plain", *words])


def test_recording_warns_that_it_does_not_see_the_header(twins: Folder, call: Call, tmp_path: Path) -> None:
    words, _ = TURNS["plenty"]
    for program, warns in ((twins("default"), True), ("/bin/true", False)):
        answer = call("record", "-o", tmp_path / "t.hst", "--", program, "inlined", *words)
        assert (answer.status, "heapsmith.h" in answer.err) == (0, warns)


@pytest.mark.big
def test_an_archive(emitted: Folder, tmp_path: Path) -> None:
    archive = build_archive(emitted("default"), tmp_path / "libheap.a")
    words, _ = TURNS["plenty"]
    for link in ([], ["-static"]):
        source = PROGRAMS / "header_twins.c"
        program = compile_program(source, tmp_path / "twins", emitted("default"), archive, *link)
        expected = ended([program, "plain", *words])
        assert expected[0] == 0
        assert ended([program, "inlined", *words]) == expected


@pytest.mark.parametrize("name", soon(DESIGNS, ("default", "checks"), ("mixed",)))
def test_containers(name: str, emitted: Folder, tmp_path: Path) -> None:
    source = PROGRAMS / "header_containers.cc"
    program = compile_program(source, tmp_path / "program", emitted(name), *WARNINGS, *linked(library(name)))
    letters = sum(number % 90 for number in range(3001) if number * 7919 % 3001 % 3)
    answer = f"{name} {DESIGNS[name].hash()} 2000 2000 {letters} shared 1 1 0\n"
    for checked in (False, True):
        folder = str(library(name, checked=checked).parent)
        assert ended([program], LD_LIBRARY_PATH=folder) == (0, answer)


def test_malloc_replaced_in_c(emitted: Folder, tmp_path: Path) -> None:
    """-include heapsmith.h -DHS_REPLACE_MALLOC: what the source calls malloc is inlined where the size is known."""
    source = tmp_path / "replaced.c"
    source.write_text(
        "#include <malloc.h>\n#include <stdlib.h>\nvoid *known(void);\nvoid *unknown(size_t bytes);\n"
        "void *known(void) { return malloc(64); }\nvoid *unknown(size_t bytes) { return malloc(bytes); }\n"
    )
    flags = [*WARNINGS, "-S", "-include", HEADER, "-DHS_REPLACE_MALLOC"]
    text = compile_program(source, tmp_path / "replaced.s", emitted("default"), *flags).read_text()
    known = text[text.index("\nknown:") : text.index(".size\tknown")]
    unknown = text[text.index("\nunknown:") : text.index(".size\tunknown")]
    assert f"hs_heap_{DESIGNS['default'].hash()}_" in known
    assert "hs_heap" not in unknown
    for standard in ("-std=c99", "-std=c2x", "-O0"):
        compile_program(source, tmp_path / "replaced.s", emitted("default"), *flags, standard)


LIES = {
    ("numbers", HEADER): ("bytes <= 48 ? 2", "bytes <= 48 ? 3"),
    ("style", HEADER): ("#define malloc(bytes) hs_malloc(bytes)", "#define free hs_free"),
    ("style", f"{HEADER}, c11"): ("    void *block = heap", "    int unused; void *block = heap"),
    ("style", f"{HEADER}, c++17"): ("void hs_fence(void)", "void hs_fence(int class)"),
    ("machine code", HEADER): ("alloc 5 loads", "alloc 4 loads"),
    ("machine code", f"{HEADER}, alloc"): ("return hs_stack_popped(", "heap->top[0] = NULL; return hs_stack_popped("),
    ("machine code", f"{HEADER}, free"): ("if (top == heap->end[row])", "if (!*top || top == heap->end[row])"),
}


@pytest.mark.thorough
def test_the_audit_sees_each_lie_in_the_header(tmp_path: Path) -> None:
    generate(SMALL, tmp_path)
    true = (tmp_path / HEADER).read_text()
    for lie, (before, after) in LIES.items():
        assert true.count(before) == 1
        text = true.replace(before, after)
        (tmp_path / HEADER).write_text(text)
        if lie == ("style", HEADER):
            rows = audit_emitted(SMALL, tmp_path, library=unchecked_library(SMALL)).rows
        else:
            rows = audit_header(make_plan(SMALL), text, tmp_path, find_gcc())
        assert lie in {(row.check, row.name) for row in rows if not row.ok}


def test_the_symbol_is_of_the_design_and_of_the_header(monkeypatch: pytest.MonkeyPatch) -> None:
    """A library of the same design but of another version, whose header is another, is another library."""
    plan = make_plan(DESIGNS["default"])

    def symbol() -> str:
        files = render(plan)
        (name,) = set(re.findall(r"hs_heap_\w+", files[HEADER]))
        assert set(re.findall(r"hs_heap_\w+", files["plan.c"])) == {name}
        return str(name)

    before = symbol()
    assert before.startswith(f"hs_heap_{plan.hash}_")
    monkeypatch.setattr(heapsmith, "__version__", "0.0.0")
    assert symbol() != before
    assert not any("hs_heap_" in text for text in render(make_plan(DESIGNS["checks"])).values())
