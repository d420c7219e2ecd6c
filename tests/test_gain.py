"""What a search says of its gain: proven beyond the errors, or not, in the same words everywhere."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import numpy as np
import pytest
from traces import random_trace

from heapsmith.api import printed
from heapsmith.model.design.design import load
from heapsmith.model.design.toml import write_design
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.confirm import Finalist
from heapsmith.model.search.explore import Known
from heapsmith.model.search.gain import gain_of
from heapsmith.model.search.tune import tune

BASE = msgspec.structs.replace(load("default"), name="x", about="")
OTHER = msgspec.structs.replace(BASE, run_cache_bytes=0)


def asked(**fields: Any) -> Any:
    """What `gain_of` reads of an explorer."""
    base = Known(BASE, [], np.ones(4))
    usual = {"base": BASE, "known": {BASE.hash(): base}, "allowed": lambda one: True, "p999_ns": {}}
    return SimpleNamespace(**(usual | {"asked": SimpleNamespace(follows_p999=False)} | fields))


def finalist(replayed: float, error: float) -> Finalist:
    return Finalist(OTHER.hash(), "the choice", 0.9, replayed, error, replayed, 1.0, 0.9)


@pytest.mark.quick
@pytest.mark.parametrize(
    ("ratios", "finalists", "better"),
    [
        ((0.91, 0.99, 0.985, 0.5), [], []),
        ((0.89, 1.01, 1.0, 1.0), [], ["time"]),
        ((1.03, 0.97, 0.975, 1.0), [], ["peak", "average"]),
        ((0.80, 1.0, 1.0, 1.0), [finalist(0.97, 0.02)], []),
        ((0.99, 1.0, 1.0, 1.0), [finalist(0.97, 0.01)], ["time"]),
        ((0.99, 1.0, 1.0, 1.0), [finalist(0.99, 0.001)], []),
    ],
)
def test_a_gain_within_the_errors_is_not_proven(
    ratios: tuple[float, ...], finalists: list[Finalist], better: list[str]
) -> None:
    gain = gain_of(Known(OTHER, [], np.array(ratios)), asked(), finalists, "default")
    assert (gain.proven, gain.better) == (bool(better), better)
    assert [*gain.ratios] == ["time", "peak", "average"]
    assert ("NOT proven, default is as good" in gain.why) == (not better)
    assert gain.why.startswith(f"Better than default in {' and '.join(better)}, ") or not better
    assert f"peak {ratios[1] - 1:+.1%}" in gain.why


@pytest.mark.quick
def test_a_gain_that_costs_another_says_both() -> None:
    gain = gain_of(Known(OTHER, [], np.array([1.3, 0.9, 1.0, 1.0])), asked(), [], "default")
    assert gain.why.startswith("Better than default in peak and worse in time, beyond the errors: time +30.0%")


@pytest.mark.quick
def test_a_base_that_stays_and_one_beyond_the_limits() -> None:
    explorer = asked()
    kept = gain_of(explorer.known[BASE.hash()], explorer, [], "default")
    assert (kept.proven, kept.why.split(":")[0]) == (False, "Use default")
    beyond = asked(allowed=lambda one: one.design != BASE)
    gain = gain_of(Known(OTHER, [], np.array([1.0, 0.99, 1.0, 1.0])), beyond, [], "default")
    assert (gain.proven, gain.better) == (True, [])
    assert "which default breaks" in gain.why
    late = asked(asked=SimpleNamespace(follows_p999=True), p999_ns={BASE.hash(): [900.0], OTHER.hash(): [600.0]})
    assert gain_of(Known(OTHER, [], np.ones(4)), late, [], "default").better == ["p99.9"]


def test_the_first_line_the_file_and_json_say_the_same(
    tmp_path: Path, own_outcomes: None, capsys: pytest.CaptureFixture[str]
) -> None:
    path = random_trace(tmp_path / "t.hst", 6000, 4, max_size=3000, live=800)
    found = tune(path, base=load("default"), name="made", asked=Asked(simulations=6, jobs=1))
    printed.tuned(found, tmp_path / "made.toml")
    said = " ".join(capsys.readouterr().out.split())
    assert said.startswith(found.gain.why)
    write_design(tmp_path / "made.toml", found.design, found.reasons)
    assert found.gain.why in " ".join((tmp_path / "made.toml").read_text().replace("#", " ").split())
    assert msgspec.to_builtins(found)["gain"]["why"] == found.gain.why
    member = next(one for one in found.front if one.hash == found.design.hash())
    assert found.gain.ratios["peak"] == member.ratios["peak"]
