"""Hot paths on other systems: instructions per operation under qemu, and what a hit path has, are those of the file."""

from collections.abc import Sequence

import pytest
from covering import soon

from heapsmith.bench.gates.hot_paths import DESIGNS, GATED, compare
from heapsmith.bench.gates.hot_paths_elsewhere import READ, TARGETS, allowed, count, version
from heapsmith.bench.programs.emulated import emulator
from heapsmith.codegen.target import toolchain
from heapsmith.model.errors import Missing

BY_ZIG = "aarch64-linux-musl"
"""ziglang compiles musl first, and programs need a loader that Debian has for another processor alone: long forms."""
ARM = "aarch64-linux-gnu"
READ_SOON = ["default", "lean", "owner", "processor", "header"]


def cases(designs: Sequence[str], of_arm: list[str], of_others: list[str]) -> list[object]:
    """Each target with each design; those of the lists in `make thorough`."""
    every = [(target, design) for target in TARGETS for design in designs]
    then = [
        (target, name) for target in TARGETS if target != BY_ZIG for name in (of_arm if target == ARM else of_others)
    ]
    return [pytest.param(*one.values[0], marks=one.marks) for one in soon(every, [], then)]


def permitted(target: str, name: str) -> dict[str, object]:
    compiler, counts = allowed(target)
    try:
        found = version(toolchain(target=target))
        emulator(target)
    except Missing as error:
        pytest.skip(str(error))
    if compiler != found:
        pytest.skip(f"the file holds the counts of {compiler}, not of {found}")
    return counts[name]


@pytest.mark.parametrize(("target", "name"), cases(READ, READ_SOON, READ_SOON))
def test_hit_paths(target: str, name: str) -> None:
    wanted = permitted(target, name)["hit_paths"]
    assert count([name], target, run=False)[name] == {"hit_paths": wanted}


@pytest.mark.parametrize(("target", "name"), cases(DESIGNS, ["default"], ["default"]))
def test_instructions(target: str, name: str) -> None:
    """A tenth of an instruction is the rounding's, and a few steps of the start are another."""
    row = permitted(target, name)
    wanted = {form: row[form] for form in GATED}
    found = {form: figure for form, figure in count([name], target, run=True)[name].items() if form in GATED}
    assert not compare({name: found}, {name: wanted})


@pytest.mark.parametrize("target", TARGETS)
def test_the_file_has_every_design(target: str) -> None:
    counts = allowed(target)[1]
    assert tuple(counts) == READ
    for name, row in counts.items():
        assert [*row] == [*(GATED if name in DESIGNS else ()), "hit_paths"]
        assert all(row[form] > 30 for form in GATED if form in row)  # two calls through the PLT, and returns
