"""How wrong samples are: the page is that of its data, and wrong weights or intervals are noticed."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
from program import Program
from test_sampling import SIZES, STACK, is_taken

from heapsmith.bench.programs.programs import Program as Job
from heapsmith.bench.studies import sampling
from heapsmith.bench.studies.sampling import Blocks, Report, faults, row
from heapsmith.model.files import write_json
from heapsmith.model.policy.sampling.countdown import Params
from heapsmith.tools.sampled import estimates

MEAN = 10_000


def blocks(seed: int = 3) -> Blocks:
    """Sizes from far below the mean to above it, of ten sites."""
    draw = np.random.default_rng(seed)
    return Blocks(np.exp(draw.normal(8, 2, 3000)).astype(np.int64) + 1, draw.integers(0, 10, 3000))


def rows(seeds: int = 20) -> list[sampling.Row]:
    return [row("drawn", f"set {seed}", blocks(seed), MEAN, range(seeds)) for seed in range(6)]


def test_estimates_and_intervals_are_right() -> None:
    found = rows(60)
    assert faults(found) == []
    assert sum(one.large_sites for one in found) > 3000
    assert all(abs(one.bias) < 0.05 for one in found)


def test_weights_without_the_correction_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each sample stands for `mean` bytes, or for itself where it is larger: as some profilers say."""
    monkeypatch.setattr(estimates, "shares", lambda sizes, means: np.minimum(1, np.asarray(sizes) / means))
    assert any("biased by -" in fault for fault in faults(rows()))


def test_intervals_that_are_too_narrow_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "TAIL", 0.2)
    said = "; ".join(faults(rows()))
    assert "totals lie within their intervals; expected 92% at least" in said
    assert "sites lie within their intervals; expected 92% at least" in said


@pytest.mark.parametrize("seed", range(3))
def test_the_samples_are_those_of_the_model(seed: int) -> None:
    """Of one thread: each of them, and no other."""
    sizes = np.minimum(blocks(seed).sizes, 255)
    case = Program(False, SIZES, front=STACK, sampling=Params(mean_bytes=MEAN, seed=seed))
    taken = []
    for size in sizes.tolist():
        taken.append(is_taken(case.malloc("x", size)))
        case.free("x")
    assert sampling.drawn(sizes, MEAN, seed).tolist() == taken
    assert sum(taken) > 20


def test_a_request_is_drawn_by_its_bytes() -> None:
    """The mean share of samples of a size is 1 - exp(-size / mean)."""
    sizes = np.tile([100, 5000, 20_000, 200_000], 20_000)
    chosen = sampling.drawn(sizes, MEAN, 1)
    for size in (100, 5000, 20_000, 200_000):
        share = -np.expm1(-size / MEAN)
        error = np.sqrt(share * (1 - share) / 20_000)
        assert abs(chosen[sizes == size].mean() - share) <= 4 * error


def test_totals_of_many_samples_that_are_far_off_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = np.full(200_000, 1000)
    many = row("drawn", "many", Blocks(sizes, np.zeros_like(sizes)), 10_000, range(20))
    assert many.samples > sampling.MANY
    assert not any("samples and more" in fault for fault in faults([many]))
    monkeypatch.setattr(sampling, "NEAR", 0.004)
    less = row("drawn", "many", Blocks(sizes, np.zeros_like(sizes)), 10_000, range(20))
    assert any("totals of 10,000 samples and more" in fault for fault in faults([less]))


def test_a_run_goes_on_with_the_rows_of_its_commit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows in the file stay as they are, unless the tree has changed since."""
    file, kept = tmp_path / "rows.json", rows()[:1]
    names = [kept[0].program]
    monkeypatch.setattr(sampling, "programs", lambda folder: [Job(names[0], "true", ["true"], ())])
    monkeypatch.setattr(sampling, "trace_of", lambda program, folder, frames: folder.mkdir(parents=True) or folder)
    monkeypatch.setattr(sampling, "blocks_of", lambda trace: {"anew": blocks()})
    for at, of in (("0123456789ab", kept[0].of), ("0123456789ab+", "anew"), ("another", "anew")):
        monkeypatch.setattr(sampling, "commit", lambda at=at: at)
        write_json(file, Report("2000-01-01", at.removesuffix("another"), kept))
        assert {one.of for one in sampling.written(file, names).rows} == {of}
        assert msgspec.json.decode(file.read_bytes(), type=Report).commit == at
