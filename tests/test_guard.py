"""Guard: the same workload passes, a shifted one fails by name, and what new size classes would save."""

import json
from collections.abc import Callable
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from conftest import Answer
from traces import random_chunk, trace_of

from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.errors import BadInput
from heapsmith.model.search import guard as watch
from heapsmith.model.search import size_classes
from heapsmith.model.search.guard import Limits, guard
from heapsmith.model.search.workload import observe, read_baseline, write_baseline
from heapsmith.model.trace.reader import Op, TraceWriter
from heapsmith.model.trace.stats import trace_info

Call = Callable[..., Answer]


def silent(what: str, done: int, total: int) -> None:
    """A progress for nobody."""


def random_recording(path: Path, seed: int, times: int = 1) -> Path:
    """A recording whose requests are `times` as large as those of the same seed."""
    chunk = random_chunk(20_000, seed, aligned=0.0)
    chunk = chunk._replace(size=np.where(chunk.op == Op.FREE, chunk.size, chunk.size * times))
    with TraceWriter(path, command=["test"], source="test") as writer:
        writer.append(chunk)
    return path


@pytest.fixture(scope="module")
def recordings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Recordings by name, and `baseline`, which `first` has written for the design `default`."""
    folder = tmp_path_factory.mktemp("guard")
    made = {"first": random_recording(folder / "first.hst", 1), "double": random_recording(folder / "double.hst", 1, 2)}
    write_baseline(folder / "baseline.json", load("default"), [made["first"]], silent)
    return made | {"baseline": folder / "baseline.json"}


def test_the_same_recording_passes(call: Call, recordings: dict[str, Path]) -> None:
    answer = call("guard", "default", recordings["first"], "--baseline", recordings["baseline"])
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.endswith("\nok\n")
    assert "DRIFTS" not in answer.out
    strict = ("--max-waste-rise", "0", "--max-slow-rise", "0%", "--max-size-shift", "0", "--max-lifetime-shift", "0")
    assert call("guard", "default", recordings["first"], "--baseline", recordings["baseline"], *strict).status == 0


def test_larger_requests_drift_by_name(call: Call, recordings: dict[str, Path]) -> None:
    arguments = ("guard", "default", recordings["double"], "--baseline", recordings["baseline"])
    answer = call(*arguments)
    assert answer.status == 1
    (line,) = (line for line in answer.out.splitlines() if line.startswith("size shift"))
    assert line.endswith("DRIFTS")
    assert answer.out.endswith("NOT ok\n")
    assert "requests of " in answer.out
    found = json.loads(call(*arguments, "--json").out)
    verdicts = {one["figure"]: one for one in found["verdicts"]}
    assert not found["ok"]
    assert not verdicts["size shift"]["ok"]
    assert 0.1 == verdicts["size shift"]["limit"] < verdicts["size shift"]["now"] <= 1
    assert verdicts["lifetime shift"]["now"] == 0  # the same blocks live as long, in events
    assert verdicts["hit rate"]["limit"] is None
    loose = ("--max-size-shift", "1", "--max-waste-rise", "900%", "--max-slow-rise", "900%")
    assert call(*arguments, *loose).status == 0
    assert call(*arguments, *loose[:-1], "0").status == 1


def test_longer_lives_drift(tmp_path: Path) -> None:
    """Freed at once, against all freed at the end; sizes are the same."""
    design = load("default")
    early, late = tmp_path / "early.hst", tmp_path / "late.hst"
    trace_of(early, [64] * 4, freed=True)
    trace_of(late, [64] * 400, freed=True)
    write_baseline(tmp_path / "b.json", design, [early], silent)
    found = {one.figure: one for one in guard(design, tmp_path / "b.json", [late], Limits(), silent).verdicts}
    assert found["size shift"].ok
    assert found["lifetime shift"].now == 1.0
    assert not found["lifetime shift"].ok


def test_shifts_are_total_variation_distances(tmp_path: Path) -> None:
    """By hand: a quarter of the requests moves from one class to another, and one lies above all classes."""
    design = changed(load("default"), "two", {"sizes": [64, 1024], "class_front": []})
    before, now = tmp_path / "before.hst", tmp_path / "now.hst"
    trace_of(before, [10, 64, 64, 65])
    trace_of(now, [10, 64, 1024, 5000])
    write_baseline(tmp_path / "b.json", design, [before], silent)
    baseline = read_baseline(tmp_path / "b.json", design)
    assert baseline.sizes[:2] == [3, 1]
    assert baseline.lifetimes[-1] == 4  # none was freed
    found = guard(design, tmp_path / "b.json", [now], Limits(), silent)
    shift = next(one for one in found.verdicts if one.figure == "size shift")
    assert shift.now == pytest.approx((0.25 + 0 + 0.25) / 2)
    assert "requests of 4,096 bytes and more, below twice that: 0.0% before, 25.0% now" in found.grown


def test_several_recordings_count_as_one(recordings: dict[str, Path]) -> None:
    design = load("default")
    first, double = (observe(design, [recordings[name]], silent).workload for name in ("first", "double"))
    both = observe(design, [recordings["first"], recordings["double"]], silent).workload
    assert both.operations == first.operations + double.operations
    assert both.sizes == [one + other for one, other in zip(first.sizes, double.sizes, strict=True)]
    assert both.waste() == pytest.approx(
        (first.committed_peak + double.committed_peak) / (first.peak_live + double.peak_live)
    )
    info = trace_info(recordings["first"])
    operations = ("malloc", "calloc", "realloc", "aligned")
    assert sum(first.sizes) == sum(info.events_by_op[name] for name in operations)
    assert sum(first.lifetimes) == sum(info.events_by_op[name] for name in operations if name != "realloc")
    assert first.peak_live == info.peak_live_bytes


def least(live: dict[int, int], largest: int, most: int, slab_bytes: int) -> int:
    """The bytes of the best `most` classes or fewer, by trying all: for few candidates."""
    candidates = range(16, largest + 1, 16)
    prices = {size: size_classes.block_price(size, slab_bytes, 0) for size in candidates}
    best = 1 << 62
    for count in range(most):
        for chosen in combinations(candidates[:-1], count):
            sizes = [*chosen, largest]
            if all(is_narrow(size, sizes) for size in candidates):
                total = sum(n * prices[min(s for s in sizes if s >= size)] for size, n in live.items())
                best = min(best, total)
    return best // size_classes.PRICE_UNIT


def is_narrow(size: int, sizes: list[int]) -> bool:
    """Whether the class of a size is at most 4/3 of it."""
    return 3 * min(one for one in sizes if one >= size) <= 4 * size


def test_what_new_classes_save_is_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "MOST_CLASSES", 6)
    sizes = [16, 32, 48, 64, 96, 128]
    design = changed(load("default"), "six", {"sizes": sizes, "class_front": []})
    trace_of(tmp_path / "t.hst", [80] * 3000 + [112] * 2000 + [48] * 100)
    write_baseline(tmp_path / "b.json", design, [tmp_path / "t.hst"], silent)
    found = guard(design, tmp_path / "b.json", [tmp_path / "t.hst"], Limits(), silent).retuning
    price = {size: size_classes.block_price(size, design.slab_bytes, 0) for size in sizes}
    own = 3000 * price[96] + 2000 * price[128] + 100 * price[48]
    assert found.design_bytes == own // size_classes.PRICE_UNIT
    assert found.best_bytes == least({80: 3000, 112: 2000, 48: 100}, 128, 6, design.slab_bytes)
    assert found.best_bytes < found.design_bytes
    assert found.may_pay
    committed = observe(design, [tmp_path / "t.hst"], silent).workload.committed_peak
    assert found.saves == pytest.approx((found.design_bytes - found.best_bytes) / committed, abs=1e-5)


def test_classes_that_fit_are_not_worth_tuning(tmp_path: Path) -> None:
    design: Design = changed(load("default"), "fit", {"sizes": [64, 128], "class_front": []})
    trace_of(tmp_path / "t.hst", [64] * 3000)
    write_baseline(tmp_path / "b.json", design, [tmp_path / "t.hst"], silent)
    found = guard(design, tmp_path / "b.json", [tmp_path / "t.hst"], Limits(), silent).retuning
    assert (found.saves, found.may_pay) == (0.0, False)


def test_bad_inputs(call: Call, recordings: dict[str, Path], tmp_path: Path) -> None:
    first, baseline = recordings["first"], recordings["baseline"]
    (tmp_path / "text.json").write_text("{")
    content = json.loads(baseline.read_text())
    (tmp_path / "older.json").write_text(json.dumps(content | {"version": 0}))
    (tmp_path / "short.json").write_text(json.dumps(content | {"sizes": content["sizes"][1:]}))
    (tmp_path / "cut.hst").write_bytes(first.read_bytes()[:-30])
    for arguments, words in (
        (("default", first), "--baseline"),
        (("default", first, "--baseline", tmp_path / "none.json"), "no such baseline"),
        (("default", first, "--baseline", tmp_path / "text.json"), "text.json: no baseline"),
        (("default", first, "--baseline", tmp_path / "older.json"), "format 0; expected 1"),
        (("default", first, "--baseline", tmp_path / "short.json"), "write the baseline anew"),
        (("lean", first, "--baseline", baseline), "is the baseline of design"),
        (("default", tmp_path / "cut.hst", "--baseline", baseline), "cut.hst"),
        (("nosuch", first, "--baseline", baseline), "nosuch"),
        (("default", first, "--baseline", baseline, "--max-waste-rise", "much"), "--max-waste-rise: much"),
        (("default", first, "--baseline", baseline, "--max-size-shift", "-1"), "--max-size-shift: -1"),
        (("default", first, "--baseline", tmp_path, "--write"), "not a plain file"),
    ):
        answer = call("guard", *arguments)
        assert (answer.status, answer.out) == (2, ""), arguments
        assert words in answer.err
        assert answer.err.count("\n") == 1


def test_a_baseline_is_written_and_read(call: Call, recordings: dict[str, Path], tmp_path: Path) -> None:
    path = tmp_path / "b.json"
    answer = call(
        "guard", "default", recordings["first"], recordings["double"], "--baseline", path, "--write", "--json"
    )
    assert answer.status == 0
    said = json.loads(answer.out)
    assert said == json.loads(path.read_text())
    assert said["traces"] == ["first.hst", "double.hst"]
    assert call("guard", "default", recordings["first"], "--baseline", path, "--write").out == f"{path}\n"
    with pytest.raises(BadInput, match="is the baseline of design"):
        read_baseline(path, load("lean"))


def test_reports_for_services(call: Call, recordings: dict[str, Path], tmp_path: Path) -> None:
    """Each format says what drifts; a baseline that is written is no judgement."""
    arguments = ("guard", "default", recordings["double"], "--baseline", recordings["baseline"])
    saved = [f"--save={name}={tmp_path / name}" for name in ("junit", "sarif", "gitlab", "markdown", "github", "json")]
    answer = call(*arguments, *saved, "--format", "github")
    assert answer.status == 1
    assert answer.out == (tmp_path / "github").read_text()
    assert json.loads((tmp_path / "json").read_text()) == json.loads(call(*arguments, "--json").out)
    drifts = {one["figure"] for one in json.loads((tmp_path / "json").read_text())["verdicts"] if not one["ok"]}
    assert "size shift" in drifts
    suite = ElementTree.parse(tmp_path / "junit").getroot()[0]
    assert {case.get("name") for case in suite if case.find("failure") is not None} == drifts
    assert {case.get("name") for case in suite if case.find("skipped") is not None} == {"hit rate"}
    results = json.loads((tmp_path / "sarif").read_text())["runs"][0]["results"]
    assert len(results) == len(json.loads((tmp_path / "gitlab").read_text())) == len(drifts)
    assert {one["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for one in results} == {"baseline.json"}
    assert "| size shift |" in (tmp_path / "markdown").read_text()
    wrong = call(*arguments, "--write", "--format", "junit")
    assert (wrong.status, wrong.out) == (2, "")
