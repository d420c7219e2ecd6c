"""The tables of docs/lab/hardening.md on guarded samples are those of their data; missed attacks are told."""

from pathlib import Path
from statistics import median

import msgspec
import pytest

from heapsmith.bench.attacks.guarded import BASES
from heapsmith.bench.studies import guarded
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json
from heapsmith.model.policy.sampling.common import GUARDED


def report() -> guarded.Report:
    return msgspec.json.decode(guarded.DATA.read_bytes(), type=guarded.Report)


def test_the_tables_are_those_of_their_data() -> None:
    page = guarded.PAGE.read_text()
    assert guarded.made(report(), page) == page
    assert guarded.made(msgspec.structs.replace(report(), rows=report().rows[3:]), page) != page


def test_the_price_is_that_of_the_programs() -> None:
    """The model's, of a guarded sample."""
    slots = report().slots
    assert {one.program for one in slots} == {*guarded.NAMES}
    assert round(median(one.both for one in slots), -2) == GUARDED
    assert min(one.samples for one in slots) > 50


def test_nearly_all_uses_after_free_and_overflows_are_told() -> None:
    shares = guarded.shares(report().found)
    assert set(shares) == set(BASES)
    assert min(shares.values()) >= guarded.LEAST


def test_attacks_that_are_missed_fail_the_study(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Of 39 attacks 32 are told."""
    found = [[*row[:2], "20", *row[3:]] if row[0] == "overflow" else row for row in report().found]
    write_json(tmp_path / "guarded.json", guarded.Report([], found))
    monkeypatch.setattr(guarded, "DATA", tmp_path / "guarded.json")
    with pytest.raises(CheckFailed, match=r"^sampled: 82\.1% of the attacks are reported; expected 95% at least"):
        guarded.main(None, None, page=False)
