"""The gate of the hot paths: a few designs take exactly the instructions that hot_paths.toml allows."""

import shutil
from pathlib import Path

import pytest

from heapsmith.bench.gates.hot_paths import DESIGNS, FILE, GATED, allowed, as_toml, compare, count, forms_of
from heapsmith.bench.gates.inlined import FORMS
from heapsmith.bench.programs import recorder_paths
from heapsmith.bench.programs.instructions import between
from heapsmith.bench.programs.recorder_paths import MOST, added
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import compile_c, find_gcc
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.tools.record.record import SPOOL_VARIABLE

PROGRAMS = Path(recorder_paths.__file__).parent


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("name", DESIGNS)
def test_instructions_of_designs(name: str) -> None:
    gcc, permitted = allowed()
    if gcc != find_gcc().version:
        pytest.skip(f"{FILE.name} holds the counts of {gcc}, not of {find_gcc().version}: run `make hot-paths`")
    wrong = compare(count([name]), {name: permitted[name]})
    assert not wrong, "\n".join(wrong)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_a_block_of_no_bytes_takes_the_hit_path(tmp_path: Path) -> None:
    """As one of a byte does."""
    flags = ["-O2", "-fno-builtin", "-DRELEASE(block, bytes)=free(block)"]
    program = compile_c([PROGRAMS / "sized.c"], tmp_path / "sized", flags=flags)
    library = library_of(load("default"))
    pairs = 4000
    none, one = (between(library, program, str(size), pairs)[0] / pairs for size in (0, 1))
    assert none == pytest.approx(one, abs=0.5)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
@pytest.mark.parametrize("stacks", MOST)
def test_instructions_of_the_recorder(stacks: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SPOOL_VARIABLE, str(tmp_path))
    assert 0 < added(stacks) < MOST[stacks]
    assert list(tmp_path.glob("*.spool"))


def test_the_file_has_every_design_and_form() -> None:
    counts = allowed()[1]
    assert tuple(counts) == DESIGNS
    assert all(list(row) == forms_of(load(name)) for name, row in counts.items())
    assert all(row[form] > 21 for row in counts.values() for form in GATED)  # two calls of empty functions
    assert [name for name, row in counts.items() if FORMS.keys() <= row.keys()] == [
        "by-class",
        "default",
        "owner",
        "two-level",
    ]


def test_what_the_gate_says() -> None:
    permitted = {"a": {"pair": 32.0, "mixed": 33.9}, "b": {"pair": 40.0}}
    assert compare(permitted, permitted) == []
    assert compare({"a": {"pair": 32.1, "mixed": 33.8}, "b": {"pair": 40.0}}, permitted) == []  # rounding
    found = {"a": {"pair": 33.0, "mixed": 33.0}, "c": {"pair": 1.0}}
    assert compare(found, permitted) == [
        "a, pair: 33.0 instructions, 32.0 are allowed: the hot path has become longer",
        "a, mixed: 33.0 instructions, 33.9 are allowed: better, so lower hot_paths.toml by `make hot-paths`",
        "c, pair: 1.0 instructions, and hot_paths.toml allows none: run `make hot-paths`",
        "b, pair: in hot_paths.toml, but not counted any more: run `make hot-paths`",
    ]


def test_the_file_comes_back_as_it_was_written(tmp_path: Path) -> None:
    counts = {"default": {"pair-32": 32.0, "mixed": 33.9}, "two-level": {"pair-32": 40.0}}
    file = tmp_path / "hot.toml"
    file.write_text(as_toml("gcc (X) 1.2", counts))
    assert allowed(file) == ("gcc (X) 1.2", counts)
    for bad in ("", "gcc = 3 4", "[default]\n"):
        file.write_text(bad)
        with pytest.raises(BadInput, match=r"hot\.toml: expected the counts that `make hot-paths` writes"):
            allowed(file)
