"""What each choice of the default is worth: each design has one choice put back, and the table has it."""

from pathlib import Path

import msgspec
import pytest
from traces import random_trace

from heapsmith.bench.studies import worth
from heapsmith.model.design.design import load


def test_each_choice_goes_back_alone() -> None:
    base = msgspec.to_builtins(load("default"))
    for design, fields in zip(worth.put_back(load("default")), worth.BACK.values(), strict=True):
        now = msgspec.to_builtins(design)
        assert {name for name in base if now[name] != base[name]} - {"name", "about"} == {*fields}


def test_the_table_has_a_row_for_each(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert worth.main([random_trace(tmp_path / "t.hst", 400, 1)], design="default") == 0
    rows = [line.split(" | ")[0].strip("| ") for line in capsys.readouterr().out.splitlines() if "(" in line]
    assert rows == [*worth.BACK]
