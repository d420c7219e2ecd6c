"""Whose blocks keep slabs, and designs tuned on samples: wrong intervals and wrong traces are noticed."""

from pathlib import Path

import numpy as np
import pytest

from heapsmith.bench.studies import from_profile, pinned
from heapsmith.bench.studies.pinned import Live
from heapsmith.model.trace.reader import TraceReader
from heapsmith.tools.sampled import estimates


def heap(seed: int = 4) -> Live:
    """Two classes of 200 slabs each, whose blocks are of three sites; one of these has sparse slabs alone."""
    draw = np.random.default_rng(seed)
    count = 20_000
    size_class = draw.integers(0, 2, count)
    slab = size_class * 200 + draw.integers(0, 150, count)
    site = draw.integers(0, 2, count)
    sparse = draw.random(count) < 0.02
    slab[sparse], site[sparse] = size_class[sparse] * 200 + draw.integers(150, 200, int(sparse.sum())), 2
    stride = np.where(size_class == 0, 512, 640)
    return Live(site, size_class, slab, stride, stride - 8, np.full(400, 65_536))


def test_each_interval_of_a_site_holds_what_it_keeps() -> None:
    row = pinned.row("drawn", [heap()], range(10))
    assert pinned.faults([row]) == []
    assert row.pairs >= 40
    assert 0.1 < row.misplaced[0] < 0.9  # an even spread is wrong here


def test_intervals_without_the_place_of_blocks_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bounds of an even spread: the sparse site keeps more."""

    def even(slabs: pinned.Slabs, low: float, value: float, high: float) -> estimates.Estimate:
        each = float(slabs.unused.sum() / slabs.live.sum())
        return estimates.Estimate(each * value, each * low, each * high)

    monkeypatch.setattr(pinned.Slabs, "kept", even)
    assert (
        "intervals hold the truth; expected 95% at least"
        in pinned.faults([pinned.row("drawn", [heap()], range(10))]).pop()
    )


def test_each_way_makes_a_trace_of_the_blocks_that_samples_stand_for(tmp_path: Path) -> None:
    """Blocks of two sites in two phases: the ways that keep phases have no block of the first one in the second."""
    draw = np.random.default_rng(1)
    count, half = 20_000, 1_000_000
    stack = np.repeat([0, 1], count // 2)
    birth = np.sort(draw.integers(0, half, count // 2))
    lives = from_profile.Lives(
        np.concatenate([birth, birth + half]),
        np.concatenate([np.full(count // 2, half), np.full(count // 2, from_profile.END)]),
        np.full(count, 100),
        stack,
    )
    for way, make in from_profile.WAYS.items():
        samples, at = from_profile.copies(lives, 2000, np.random.default_rng(2))
        assert abs(len(at) / count - 1) < 0.15
        birth, death = make(samples, at, np.random.default_rng(3))
        assert (death > birth).all()
        first = samples.stack[at] == 0
        late = (birth[first] > half * 1.05).mean()
        assert (late > 0.3) if way == "lifetimes" else (late == 0)
        with TraceReader(from_profile.write(tmp_path / f"{way}.hst", birth, death, samples.size[at])) as reader:
            assert reader.footer.events == len(birth) + int((death < from_profile.END).sum())
