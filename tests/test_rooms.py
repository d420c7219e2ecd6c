"""Rooms: a policy's numbers are read in its own room alone, with few exceptions; its moments are told."""

import re
from pathlib import Path

import pytest

from heapsmith.codegen.generate import render
from heapsmith.model import policy
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("model", "codegen", "templates", "runtime", "tools", "src/heapsmith/api", "src/heapsmith/commands")
COMMENT = re.compile(r"/\*.*?\*/|\{#.*?#\}", re.DOTALL)
OTHER_MEANING = {"pool", "batch"}
"""Words that numbers of rooms share with locks and messages."""

EXCEPTIONS = {
    ("release", "src/heapsmith/commands/limits.py"): "a command sets the limit of any design",
    ("slab_record", "model/memory/layout.py"): "where records lie is where the model's addresses are",
    ("slab_record", "model/parts/slabs.py"): "records take slabs of a superslab from the blocks",
    ("slab_record", "model/policy/unmapping/superslabs.py"): "they go and come back with the superslab",
    ("segregation", "runtime/heap/9_api/api.c"): "aligned blocks look at the classes of sizes alone",
    ("segregation", "templates/plan.c.j2"): "the tables of sites lie among the tables of classes",
    ("shards", "model/predict/clocks.py"): "a calendar for each lock of a shard",
    ("heaps", "runtime/heap/8_threads/front/processor/array_stack.c"): "the stack of a processor, under its front",
    ("sampling", "tools/sampled/process.py"): "a profile without a sample is of the mean that is set",
    ("sampling", "tools/sampled/switch.py"): "a command switches the samples of a process",
}
"""The files outside a room that read its numbers, and why."""


def numbers_of(room: str) -> set[str]:
    rows = next(rows for rows in policy.TABLES.values() if room_of(rows[0].__name__) == room)
    return {
        name for row in rows for kind in ("NUMBERS", "CLASS_NUMBERS", "CLASS_FIELDS") for name in getattr(row, kind, ())
    }


def room_of(module: str) -> str:
    return module.split(".")[-2]


ROOMS = [room_of(rows[0].__name__) for rows in policy.TABLES.values()]


def reads(room: str, path: str, text: str) -> set[str]:
    """The numbers of a room that a file reads: in Python by name, in C and templates as macros or tables."""
    names = "|".join(sorted(numbers_of(room) - OTHER_MEANING))
    if not names or f"/{room}/" in path:
        return set()
    if path.endswith(".py"):
        found = re.findall(
            rf"(?:state|scalars|record|row)\.({names})\b|\[\"({names})\"\]|\"({names})\" (?:not )?in\b"
            rf"|\.get\(\"({names})\"",
            text,
        )
        return {next(filter(None, groups)) for groups in found}
    found = re.findall(rf"\b({names.upper()})\b|\bhs_({names})\b", COMMENT.sub("", text))
    return {next(filter(None, groups)) for groups in found}


@pytest.fixture(scope="module")
def texts() -> dict[str, str]:
    files = [
        path for folder in PRODUCT for path in (ROOT / folder).rglob("*") if path.suffix in {".py", ".c", ".h", ".j2"}
    ]
    return {str(path.relative_to(ROOT)): path.read_text() for path in files}


@pytest.mark.thorough
def test_numbers_of_a_room_are_read_in_it_alone(texts: dict[str, str]) -> None:
    assert len(texts) > 500
    outside = {(room, path) for room in ROOMS for path, text in texts.items() if reads(room, path, text)}
    assert outside == EXCEPTIONS.keys()
    assert len(EXCEPTIONS) <= 10


@pytest.mark.parametrize(
    ("room", "path", "text"),
    [
        ("learner", "model/heap/heap.py", "if state.learn_window > 0:"),
        ("learner", "codegen/shape.py", 'row.numbers.get("learn_most")'),
        ("ownership", "model/design/plan.py", 'if "own_superslabs" in numbers'),
        ("unmapping", "runtime/heap/6_slabs/slabs.c", "#ifdef UNMAP_FROM"),
        ("background", "runtime/heap/6_slabs/slabs.c", "hs_background_low[class]"),
    ],
)
def test_a_reader_outside_is_found(room: str, path: str, text: str) -> None:
    assert reads(room, path, text)
    assert not reads(room, f"model/policy/{room}/row.py", text)


def test_a_moment_that_nobody_tells_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else the row would do nothing there, in the model nor in C, and both would agree."""
    monkeypatch.setattr(policy.row("slab_choice", "fullest_first"), "MOMENTS", ("block_given",), raising=False)
    with pytest.raises(TypeError, match=r"^fullest_first: block_given: expected a moment of templates/moments\.h\.j2$"):
        render(make_plan(load("fullest")))
