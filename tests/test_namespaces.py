"""A library that a program opens by dlmopen has a C library of its own: both run, and only the program is looked at."""

import json
import os
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer
from preloaded import library, program, run, shim

from heapsmith.model.trace.reader import Op, TraceReader
from heapsmith.tools.record.record import record

OWN, OTHERS, COUNT = 1009, 2003, 500
"""As in tests/programs/namespaces.c."""


def words() -> list[str | Path]:
    return [program("namespaces"), shim("namespaces", "-DPLUGIN")]


@pytest.mark.parametrize("design", ["default", pytest.param("hardened", marks=pytest.mark.thorough)])
def test_both_run(design: str) -> None:
    assert run(words(), library(design, checked=False)) == "done\n"


def test_samples_are_those_of_the_program(call: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEAPSMITH", "")
    answer = call("profile", "--mean", "100", "--json", "--", *words())
    assert answer.status == 0, answer.err
    total = json.loads(answer.out)["total"]["allocated_bytes"]
    assert total["high"] > COUNT * OWN
    assert total["value"] < 20 * COUNT * OTHERS / 10


def test_the_trace_has_the_blocks_of_the_program(tmp_path: Path) -> None:
    with (tmp_path / "out").open("w") as out:
        found = record(list(map(os.fspath, words())), tmp_path / "t.hst", stdout=out)
    assert (found.exit_status, (tmp_path / "out").read_text()) == (0, "done\n")
    with TraceReader(tmp_path / "t.hst") as reader:
        born = Counter(size for chunk in reader for size in chunk.size[chunk.op == int(Op.MALLOC)].tolist())
    assert (born[OWN], born[OTHERS]) == (COUNT + 1, 0)
