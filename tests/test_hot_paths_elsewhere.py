"""Hot paths on 64-bit Arm: instructions per operation under qemu, and what each hit path has, are those of the file."""

import pytest
from covering import soon
from systems import ARM

from heapsmith.bench.gates.hot_paths import DESIGNS, GATED, compare
from heapsmith.bench.gates.hot_paths_elsewhere import READ, allowed, count
from heapsmith.codegen.toolchain import find_compiler


def permitted(name: str) -> dict[str, object]:
    gcc, counts = allowed(ARM.target)
    if gcc != (found := find_compiler(ARM.tools().compiler[0]).version):
        pytest.skip(f"the file holds the counts of {gcc}, not of {found}")
    return counts[name]


@pytest.mark.parametrize("name", soon(READ, [], ["default", "lean", "owner", "processor", "header"]))
def test_hit_paths(name: str) -> None:
    wanted = permitted(name)["hit_paths"]
    assert count([name], ARM.target, run=False)[name] == {"hit_paths": wanted}


@pytest.mark.parametrize("name", soon(DESIGNS, [], ["default"]))
def test_instructions(name: str) -> None:
    """A tenth of an instruction is the rounding's, and a few steps of the start are another."""
    wanted = {form: permitted(name)[form] for form in GATED}
    found = {form: figure for form, figure in count([name], ARM.target, run=True)[name].items() if form in GATED}
    assert not compare({name: found}, {name: wanted})


def test_the_file_has_every_design() -> None:
    counts = allowed(ARM.target)[1]
    assert tuple(counts) == READ
    for name, row in counts.items():
        assert [*row] == [*(GATED if name in DESIGNS else ()), "hit_paths"]
        assert all(row[form] > 30 for form in GATED if form in row)  # two calls through the PLT, and returns
