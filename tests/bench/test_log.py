"""The log step by step: each step is fair and legal, the last state is `hakmem`, the page is of the figures."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.bench.experiments import log
from heapsmith.bench.experiments.book import book
from heapsmith.bench.experiments.fair import faults
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput, CheckFailed


def test_the_last_state_is_the_built_in_design() -> None:
    built_in, last = load("hakmem"), log.states(log.log())[-1]
    assert msgspec.structs.replace(last, name=built_in.name, about=built_in.about) == built_in


def test_each_step_states_all_in_which_its_arms_differ() -> None:
    steps = log.as_book(log.log()).experiments
    assert len(steps) > 10
    assert [fault for name, one in steps.items() for fault in faults(name, one)] == []


def test_a_step_that_changes_nothing_or_no_legal_design_is_refused(tmp_path: Path) -> None:
    text = log.FILE.read_text()
    (tmp_path / "same.toml").write_text(text.replace('slab_choice = "hot_index"', 'slab_choice = "scan"'))
    steps = log.as_book(log.log(tmp_path / "same.toml")).experiments
    assert faults("hot-index", steps["hot-index"]) == ["hot-index: before and after do not differ in slab_choice"]
    (tmp_path / "wrong.toml").write_text(text.replace('slab_choice = "hot_index"', 'slab_choice = "hot"'))
    with pytest.raises(BadInput, match="log-hot-index: slab_choice: unknown policy 'hot'"):
        log.as_book(log.log(tmp_path / "wrong.toml"))


def test_the_page_is_of_the_kept_figures(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    log.check()
    other = tmp_path / "log.md"
    other.write_text(log.PAGE.read_text().replace(" %", " per cent", 1))
    monkeypatch.setattr(log, "PAGE", other)
    with pytest.raises(CheckFailed, match=r"log\.md is not made of log\.json and results\.json; run .* --page"):
        log.check()


def test_each_phase_is_of_fair_arms_that_differ() -> None:
    found, rest = log.log(), book()
    known = log.as_book(found).experiments | rest.experiments
    assert [phase.number for phase in found.phases] == ["6.24", "12", "14", "15", "19", "20", "21", "ULTRA"]
    for name in {name for phase in found.phases for name in phase.of}:
        assert known[name].varies
        assert faults(name, known[name]) == []
    figures = log.kept(log.FIGURES)
    rows = log.phases(found, figures).rows
    assert {row[0] for row in rows} == {phase.number for phase in found.phases}
    assert ["12", "`empties`", "shared", "shifting"] in [row[:4] for row in rows]
    assert ["E12", "superslabs"] in [[row[2], row[5]] for row in rows]
    assert ["E39", "both", "level 1", "88 to 99 %"] in [[row[2], row[4], row[5], row[8]] for row in rows]


def test_figures_of_another_step_are_no_figures_of_this_one() -> None:
    kept = log.kept(log.FIGURES)
    steps = log.as_book(log.log())
    assert log.stale(steps, kept) == []
    one = kept["ring"]
    assert log.stale(steps, kept | {"ring": msgspec.structs.replace(one, arms="0")}) == ["ring"]
