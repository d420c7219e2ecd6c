"""The audit: every design's claims hold, and each kind of lie in the emitted C is found and named."""

import shutil
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from covering import soon
from preloaded import FIRST_BUILT_IN

from heapsmith.codegen import claims
from heapsmith.codegen.audit import AuditReport, audit_emitted
from heapsmith.codegen.build import FLAGS, build_emitted
from heapsmith.codegen.built import library_of
from heapsmith.codegen.emitted import parse
from heapsmith.codegen.generate import generate
from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.shape import audit_shape
from heapsmith.model.design.design import ClassFront, Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import Missing
from heapsmith.model.files import scratch
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import hot_over_list as front_hot_over_list
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import ring_over_list as front_ring_over_list
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import off as hardening_off

needs_tools = pytest.mark.skipif(
    not (shutil.which("gcc") and shutil.which("objdump")), reason="gcc or objdump is not on PATH"
)

FRONTS = [
    ClassFront([32], front_fifo_ring.Params()),
    ClassFront([48], front_fifo_ring.Params(capacity=1)),
    ClassFront([64], front_linked_list.Params()),
    ClassFront([80], front_two_level.Params()),
    ClassFront([96], front_none.Params()),
    ClassFront([112], front_array_stack.Params(capacity=1)),
    ClassFront([128], front_ring_over_list.Params()),
    ClassFront([144], front_ring_over_list.Params(capacity=1)),
    ClassFront([160], front_hot_over_list.Params()),
]
EVERY_FRONT = Design("every-front", [16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 2048], class_front=FRONTS)


def complaints(report: AuditReport) -> list[str]:
    return [f"{row.check}: {row.name}: {row.claim}: {row.found}" for row in report.failed()]


@needs_tools
@pytest.mark.parametrize("name", FIRST_BUILT_IN)
def test_built_in_designs_do_what_they_claim(name: str) -> None:
    design = load(name)
    report = audit(design)
    assert complaints(report) == []
    assert report.ok
    counted = [row.name for row in report.rows if row.check == "machine code"]
    named = {"malloc", "free", *(["malloc_above"] if make_plan(design).has_above else [])}
    named |= {"heapsmith.h", "heapsmith.h, alloc", "heapsmith.h, free"}
    assert len(counted) == 2 * len(claims.straight(make_plan(design))) + len(named & {*counted})
    claimed = {name for name in named if "heapsmith.h" in name or claims.counted(make_plan(design), name)}
    assert claimed <= {*counted} or design.hardening != hardening_off.Params()
    assert report == msgspec.json.decode(msgspec.json.encode(report), type=AuditReport)


def audit(design: Design) -> AuditReport:
    """The audit of a design's C and of its library."""
    with scratch() as emitted:
        generate(design, emitted)
        return audit_emitted(design, emitted, library=library_of(design))


@pytest.mark.thorough
@needs_tools
@pytest.mark.parametrize("remote", soon(("local_cache", "owner_list"), ["local_cache"]))
@pytest.mark.parametrize(
    "classifier", soon(("slab_map", "class_region", "header", "byte_header", "magic_header", "page_map"), ["slab_map"])
)
def test_every_front_under_every_dispatch(classifier: str, remote: str) -> None:
    empties = "dedicated" if classifier == "class_region" else "shared"
    chosen = {"classifier": classifier, "remote": remote, "empties": empties}
    for dispatch in ("row", "class"):
        design = msgspec.structs.replace(EVERY_FRONT, **chosen, dispatch=dispatch)
        assert complaints(audit(design)) == []


@pytest.mark.thorough
@needs_tools
@pytest.mark.parametrize(
    "design",
    [
        pytest.param(Design("one", [64], classifier="header", remote="owner_list"), marks=pytest.mark.big),
        Design("one-bare-header", [64], classifier="header", front=front_none.Params()),
    ],
    ids=lambda design: design.name,
)
def test_a_single_class_is_compiled_into_malloc_and_free(design: Design) -> None:
    assert complaints(audit(design)) == []


TAMPERED = Design(
    "tampered",
    [16 * (1 + index) for index in range(11)],
    front=front_linked_list.Params(capacity=64),
    class_front=[ClassFront([176], front_array_stack.Params(capacity=64))],
)
CLAIM = "alloc 3 loads, 2 stores, 1 branch; free 2 loads, 3 stores, 1 branch. */\nstatic void *"

FULL = "    if (held >= 64) { /* full, or no heap */\n        "

CHANGES = {
    "fast.c": {
        '#include "3_records/span.h"': '#include "2_system/locks.h"\n#include "6_slabs/store.h"',
        "[CLASS_16].hit0);": "[CLASS_16].hit0); while (block->link == 1) block = NULL;",
        "[CLASS_32].held, held + 1);": "[CLASS_32].held, held + 1); heap->remote = block;",
        "[CLASS_48].held;\n    if (held >= 64)": "[CLASS_48].held;\n    if (held >= 63)",
        "[CLASS_64].hit0);": "[CLASS_64].hit0); hs_lock_pool();",
        "newest = block;\n    link_set(newest, heap->front[CLASS_80]": "newest = held == 7 ? NULL : block;\n"
        "    link_set(newest, heap->front[CLASS_80]",
        "word_subtract(&heap->front[CLASS_96]": "word_subtract(&heap->front[CLASS_112]",
        f"[CLASS_112].held;\n{FULL}linked_list_flush(heap, class, block)": "[CLASS_112].held;\n"
        f"{FULL}hs_give(heap, class, block, NULL)",
        f"{CLAIM}alloc_128": f"{CLAIM}alloc_128".replace("alloc 3 loads", "alloc 2 loads"),
        f" * Hit path: {CLAIM}alloc_144": " */\nstatic void *alloc_144",
        "void *malloc(": "static int other(void) { return 1; }\nvoid *malloc(",
        "hs_malloc_large(bytes);": "hs_malloc_large(bytes); /* " + 120 * "x",
        "    return pop(heap, heap->row_of": "*/ struct heap *heap = hs_self; return pop(heap, heap->row_of",
        "    alloc_16,\n    alloc_32,": "#define BOTH /home/ann 2024-05-01\n    alloc_32,\n    alloc_16,",
    },
    "plan.c": {
        ".held = 64 + 1 },\n        [CLASS_176]": ".held = 64 },\n        [CLASS_176]",
        ".stride = 48": ".stride = 64",
        "    0, 0, 1,": "    0, 1, 1,",
        "/* The tables": "/* The table",
    },
    "plan.h": {"RUN_BINS = 128": "RUN_BINS = 129"},
}

FOUND = {
    ("shape", "functions"): "other is not declared",
    ("shape", "alloc_16"): "holds a while",
    ("shape", "free_48"): "its conditions are >= 63; holds the number 63",
    ("shape", "alloc_64"): "calls hs_lock_pool, which is not declared",
    ("shape", "free_80"): "branches 2 times; holds the number 7",
    ("shape", "alloc_96"): "names CLASS_112, CLASS_96",
    ("shape", "free_112"): "leaves for hs_give",
    ("numbers", "enumerators"): "enumerators.RUN_BINS is 129, the plan says 128",
    ("numbers", "hs_class"): "hs_class[2].stride is 64, the plan says 48",
    ("numbers", "hs_size_class"): "hs_size_class[1] is 1, the plan says 0",
    ("numbers", "hs_no_heap"): "hs_no_heap.front[9].held is 64, the plan says 65",
    ("numbers", "alloc_of"): "alloc_of[0] is alloc_32, the plan says alloc_16",
    ("style", "plan.c"): "does not begin with the banner",
    ("style", "fast.c"): "columns",
    ("style", "gcc -Wall -Wextra"): "'other' defined but not used",
    ("machine code", "free_32"): "2 loads, 4 stores, 1 branch in",
    ("machine code", "alloc_64"): "hs_lock_pool, which is no declared slow path",
    ("machine code", "free_112"): "hs_give, which is no declared slow path",
    ("machine code", "alloc_128"): "3 loads, 2 stores, 1 branch in",
    ("machine code", "alloc_144"): "its comment claims none",
    ("machine code", "malloc"): "its comment claims none",
}


class Toolbox(NamedTuple):
    """A folder for PATH, and the names of the audit's rows for the compilers in it."""

    path: str
    rows: set[str]


@pytest.fixture(
    scope="module", params=[["gcc", "clang"], pytest.param(["gcc"], marks=pytest.mark.big)], ids=" and ".join
)
def toolbox(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Toolbox:
    """The tools that gcc needs, and either no clang or a stand-in for clang: gcc under that name."""
    folder = tmp_path_factory.mktemp("tools")
    for tool in ("gcc", "g++", "as", "ld", "objdump"):
        if found := shutil.which(tool):
            (folder / tool).symlink_to(found)
    for compiler in request.param[1:]:
        (folder / compiler).symlink_to(folder / "gcc")
    return Toolbox(str(folder), {f"{compiler} -Wall -Wextra" for compiler in request.param})


@pytest.fixture(scope="module")
def emitted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("emitted")
    generate(TAMPERED, folder)
    return folder


@pytest.fixture(scope="module")
def lied(tmp_path_factory: pytest.TempPathFactory, toolbox: Toolbox) -> AuditReport:
    """The audit of one design whose every file was changed in many places, by each set of compilers."""
    folder = tmp_path_factory.mktemp("lied")
    generate(TAMPERED, folder)
    for file, changes in CHANGES.items():
        text = (folder / file).read_text()
        for old, new in changes.items():
            assert text.count(old) == 1, f"{file} holds {old!r} {text.count(old)} times"
            text = text.replace(old, new)
        (folder / file).write_text(text)
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setenv("PATH", toolbox.path)
        return audit_emitted(TAMPERED, folder)


@needs_tools
@pytest.mark.parametrize(("check", "name"), FOUND, ids=[f"{check}-{name}" for check, name in FOUND])
def test_a_lie_is_found_and_named(lied: AuditReport, check: str, name: str) -> None:
    assert not lied.ok
    (row,) = [row for row in lied.rows if (row.check, row.name) == (check, name)]
    assert not row.ok, row
    assert FOUND[check, name] in row.found


@needs_tools
@pytest.mark.parametrize(
    ("old", "new", "name", "found"),
    [
        ("array_stack_refill(hs_self, class)", "stack_pop(hs_self, class)", "malloc_miss", "size_to_class, stack_pop"),
        (
            "array_stack_flush(heap, class, block)",
            "stack_begins(heap, class, block)",
            "free_miss",
            "calls stack_begins",
        ),
        ("size_t class = row - 1;", "size_t class = row - 2;", "free_miss", "holds the number 2"),
        ("if (row == 0)", "if (row == 1)", "free_miss", "its conditions are == 1"),
    ],
    ids=["refill", "flush", "class", "row"],
)
def test_a_miss_that_goes_elsewhere_is_found(old: str, new: str, name: str, found: str, tmp_path: Path) -> None:
    design = Design("missed", [16, 32])
    generate(design, tmp_path)
    text = (tmp_path / "fast.c").read_text()
    assert text.count(old) == 1
    (tmp_path / "fast.c").write_text(text.replace(old, new))
    (row,) = [row for row in audit_shape(make_plan(design), parse(tmp_path, HEAP)) if row.name == name]
    assert not row.ok
    assert found in row.found


@needs_tools
def test_what_was_left_alone_still_holds(lied: AuditReport, toolbox: Toolbox) -> None:
    failed = {row.name for row in lied.failed()}
    changed = {name for _, name in FOUND} | {"alloc_16", "free_16", "free_48", "free_80", "alloc_96", "free_144"}
    assert toolbox.rows <= failed <= changed | toolbox.rows
    passed = [row for row in lied.rows if row.ok and row.check in {"shape", "machine code"}]
    assert len(passed) >= 25


@needs_tools
def test_the_line_that_breaks_a_rule_is_named(lied: AuditReport) -> None:
    (row,) = [row for row in lied.rows if (row.check, row.name) == ("style", "fast.c")]
    for words in ("columns", "tells /home/ann, 2024-05-01", "is #define BOTH"):
        assert words in row.found


@needs_tools
def test_c_that_does_not_compile_fails_the_audit(
    emitted: Path, tmp_path: Path, toolbox: Toolbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", toolbox.path)
    shutil.copytree(emitted, tmp_path, dirs_exist_ok=True)
    text = (emitted / "plan.h").read_text()  # which every source includes: gcc gives each up at once
    (tmp_path / "plan.h").write_text(text.replace("RUN_BINS = 128", "RUN_BINS 128"))
    report = audit_emitted(TAMPERED, tmp_path)
    assert {(row.check, row.name) for row in report.failed()} == {
        ("shape", "emitted C"),
        ("machine code", "library"),
        *(("style", name) for name in toolbox.rows),
    }


@pytest.mark.thorough
@needs_tools
def test_other_machine_code_than_claimed_names_the_compiler(emitted: Path, tmp_path: Path) -> None:
    flags = [flag for flag in FLAGS if flag != "-O2"]
    slow = build_emitted(emitted, tmp_path / "slow.so", flags=["-O0", *flags])
    failed = audit_emitted(TAMPERED, emitted, library=slow).failed()
    assert {row.name for row in failed} >= {"alloc_16", "free_16", "malloc", "free"}
    assert all(row.check == "machine code" and "gcc" in row.found for row in failed)


@needs_tools
def test_missing_objdump_is_said(emitted: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gcc = tmp_path / "gcc"
    gcc.write_text(f'#!/bin/sh\nexec {shutil.which("gcc")} "$@"\n')
    gcc.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Missing, match="install binutils"):
        audit_emitted(TAMPERED, emitted, library=tmp_path / "library.so")
