"""Every message that states a limit states it truly: what it says is expected is taken, and one beyond is refused.

The messages are found in the sources. What is refused is found by values that nothing takes: each says its limit.
"""

import ast
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput
from heapsmith.model.heap.simulator import Simulator
from heapsmith.model.memory.application import Application
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.memory.listener import Listener
from heapsmith.model.search.asked import USUAL, check_arguments
from heapsmith.model.search.choice import parse_limits
from heapsmith.model.trace.edit.inputs import _starts
from heapsmith.model.trace.reader import Op

ROOT = Path(__file__).resolve().parent.parent
NUMBER = r"(-?\d[\d,]*(?:\.\d+)?)"
STATED = re.compile(
    rf"expected (?:a multiple of {NUMBER})?[^;:]*?"
    rf"(?:\b{NUMBER} to (?:the \w+, )?{NUMBER}|from [a-z ]+ to {NUMBER}|"
    rf"at most {NUMBER}|at least {NUMBER}|{NUMBER} or more)"
)
LIMITS = re.compile(r"expected[^;:]*?(?:[\d\0] to [\d\0]|(?:at most|at least) [\d\0]|[\d\0] or (?:more|less))")
ELSEWHERE = {
    "model/policy/front/levels.py": "test_levels.py",
    "model/policy/classifier/magic_header.py": "test_design.py",
    "model/policy/classifier/registry.py": "test_registry.py",
    "model/policy/prewarm/fronts.py": "test_design.py",
    "model/policy/segregation/sites.py": "test_segregation.py",
    "model/predict/times.py": "test_meters.py",
    "model/search/draft.py": "test_tune.py",
    "model/search/source.py": "test_cli_mistakes.py",
    "model/search/asked.py": "test_tune.py",
    "model/trace/edit/selection.py": "test_trace_tools.py",
    "model/trace/events.py": "test_trace_events.py",
    "model/trace/frames.py": "test_trace.py",
    "model/trace/imports/arrays.py": "test_python.py",
    "model/trace/imports/columns.py": "test_imports.py",
    "model/trace/imports/csv_table.py": "test_import_tables.py",
    "model/trace/imports/heaptrack.py": "test_imports.py",
    "model/trace/imports/source.py": "test_imports.py",
    "model/trace/reader.py": "test_bytes.py",
    "tools/common/rounds.py": "test_measure.py",
    "bench/soak/soak.py": "bench/test_soak.py",
    "tools/knobs/tcmalloc_classes.py": "test_knobs.py",
    "tools/sampled/switch.py": "test_sampled_thread.py",
    "src/heapsmith/api/typed.py": "test_python_types.py",
    "src/heapsmith/commands/trace_tools.py": "test_trace_tool_commands.py",
}
"""Files that state limits which the values here do not reach, and the test that drives such a message."""

NOWHERE = {
    "model/trace/synth/fit_file.py": "files of `trace fit` that were changed by hand: nobody has tried yet",
    "model/trace/writer.py": "a mistake of ours, which no user can make: a ValueError",
    "tools/sweep/grid.py": "a million combinations",
    "src/heapsmith/api/traces.py": "needs a program to record",
}
"""Files with a message that no test drives, and why."""

Refuses = Callable[[Any], str | None]
"""The message about a value, or None where it is taken."""


def refusal(call: Callable[[], object]) -> str | None:
    """The message with which a call refuses its arguments."""
    try:
        call()
    except BadInput as error:
        return str(error)
    return None


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers_of_designs() -> Iterator[tuple[str, Refuses]]:
    """Each number of a design and of its policies, in the first built-in design that has it."""
    batches = changed(load("owner"), "batches", {"remote": {"kind": "owner_batch", "batch_bytes": 1024}})
    for design in (*map(load, builtin_names()), batches):
        for field in design.__struct_fields__:
            value = getattr(design, field)
            if is_number(value) and field != "grain":  # 8 or 16: a choice without a limit
                yield field, partial(with_number, design, field, "")
            for part in value.__struct_fields__ if isinstance(value, msgspec.Struct) else ():
                if is_number(getattr(value, part)):
                    yield f"{field}.{part}", partial(with_number, design, field, part)


def with_number(design: Design, field: str, part: str, new: Any) -> str | None:
    """What the design says of another number in a field, or in a part of it."""
    value = msgspec.structs.replace(getattr(design, field), **{part: new}) if part else new
    return words_of(msgspec.structs.replace(design, **{field: value}))


def words_of(design: Design) -> str | None:
    refusal = design.why_not_valid()
    return refusal and refusal.words


def classes(count: int) -> str | None:
    """What a design with `count` classes is refused for."""
    sizes = [16 * one for one in range(1, min(count, 999) + 1)]
    return words_of(msgspec.structs.replace(load("coarse"), sizes=sizes))


def with_machine(path: str, new: Any) -> str | None:
    """What the machine says of another number; path: names joined by dots."""
    kept = [machine := load_hardware("default")]
    *outer, last = path.split(".")
    for name in outer:
        kept.append(getattr(kept[-1], name))
    value = msgspec.structs.replace(kept.pop(), **{last: new})
    for name in reversed(outer):
        value = msgspec.structs.replace(kept.pop(), **{name: value})
    assert isinstance(value, type(machine))
    return value.why_not_valid()


MACHINE = ("line_bytes", "cores", "l1.ways", "l2.bytes", "llc.ways", "tlb.small.ways", "tlb.second.entries")


def asked(field: str, new: Any) -> str | None:
    """What tune says of another number."""
    return refusal(lambda: check_arguments(load("default"), USUAL._replace(**{field: new}), "case"))


def size_followed(size: int) -> str | None:
    """A block of `size` bytes with simulated caches; the program touches nothing of it."""
    plan, machine = make_plan(load("lean")), load_hardware("default")
    program = Application(births="none", deaths="none")
    simulator = Simulator(plan, compiled=False, listener=Listener(machine), application=program)
    return refusal(lambda: simulator.step(Op.MALLOC, 0, 0, size))


def factor(times: float) -> str | None:
    """What tune says of a limit of `times` times the base."""
    return refusal(lambda: parse_limits(f"{times}x", None, None))


def blocks_together(blocks: int) -> str | None:
    """What `trace merge` and its kin say of two traces with `blocks` blocks together."""
    return refusal(lambda: _starts([Path("a.hst"), Path("b.hst")], "blocks", [1, max(0, blocks - 1)]))


def everything() -> dict[str, Refuses]:
    """Whatever takes a number, by its name."""
    known: dict[str, Refuses] = {f"machine {path}": partial(with_machine, path) for path in MACHINE}
    known |= {f"tune {field}": partial(asked, field) for field in ("max_classes", "simulations", "cores")}
    known |= {"sizes": classes, "size": size_followed, "max time": factor, "blocks": blocks_together}
    for name, refuses in numbers_of_designs():
        known.setdefault(name, refuses)
    return known


@cache
def found() -> dict[str, tuple[str, list[tuple[int | float, int | float]]]]:
    """By what has a limit: the message, and pairs of a value that it says it takes and one beyond."""
    limits: dict[str, tuple[str, list[tuple[int | float, int | float]]]] = {}
    for name, refuses in everything().items():
        for absurd in (10**15 + 1, -(10**9) - 1):
            message = refuses(absurd)
            if (
                message
                and name.split()[-1].split(".")[0].split("_")[0] in message
                and (stated := STATED.search(message))
            ):
                multiple, low, high, top, most, least, more = stated.groups()
                step = number(multiple or "1")
                pairs = [(number(text), step) for text in (high or top or most,) if text]
                pairs += [(number(text), -step) for text in (low or least or more,) if text]
                limits.setdefault(name, (message, pairs))
    return limits


def number(text: str) -> int | float:
    return float(text) if "." in text else int(text.replace(",", ""))


@pytest.mark.parametrize("name", everything())
def test_a_limit_is_where_its_message_says(name: str) -> None:
    """A value at the limit may be refused for another reason, but not by this message; one beyond is refused."""
    assert name in found(), "no value is refused with a limit"
    message, pairs = found()[name]
    expected = message[message.index("expected") :]
    refuses = everything()[name]
    for at, step in pairs:
        taken = refuses(at)
        assert taken is None or expected not in taken, f"{at}: {taken}"
        assert refuses(at + step), f"{at + step} is taken, though {message}"


def stated_in_sources() -> Iterator[tuple[str, str]]:
    """Each message of the sources that says what is expected with a limit: its file, and a pattern of it."""
    for folder in ("model", "codegen", "tools", "bench", "src/heapsmith"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text())
            parts = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
            for node in ast.walk(tree):
                pieces = node.values if isinstance(node, ast.JoinedStr) else [node]
                if id(node) in parts or not all(isinstance(one, ast.Constant | ast.FormattedValue) for one in pieces):
                    continue
                text = "".join(str(one.value) if isinstance(one, ast.Constant) else "\0" for one in pieces)
                if "\n" not in text and LIMITS.search(text):
                    yield str(path.relative_to(ROOT)), ".*".join(map(re.escape, re.split(r"\0|\{\w+\}", text)))


@pytest.mark.thorough
def test_every_stated_limit_is_driven_or_has_a_test_of_its_own() -> None:
    said = [message for message, _ in found().values()]
    left = [place for place in stated_in_sources() if not any(re.search(place[1], one) for one in said)]
    assert {file for file, _ in left} == ELSEWHERE.keys() | NOWHERE.keys()
    assert all((ROOT / "tests" / test).is_file() for test in ELSEWHERE.values())
