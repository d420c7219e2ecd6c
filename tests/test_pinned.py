"""`heapsmith pins` by site: a program whose sites keep slabs in known ways, and the bounds against plain counts."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from conftest import PROGRAM, Answer
from preloaded import library, program

from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.sampled.pinned import Slabs, share

Call = Callable[..., Answer]

APART, TOGETHER, HALVES = 20_000, 20_000, 20_000
"""The blocks of tests/programs/pinning_sites.c."""


@contextmanager
def waiting(design: str, mean: int) -> Iterator[int]:
    """The process, once it has all its blocks."""
    environment = os.environ | {
        "LD_PRELOAD": preloadable(library(design, checked=False)),
        "HEAPSMITH": f"sample={mean}",
    }
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([str(program("pinning_sites", "-g"))], text=True, env=environment, **pipes) as run:  # type: ignore[call-overload]
        assert run.stdout.readline() == "ready\n"
        yield run.pid
        run.stdin.close()


def test_sites_keep_what_the_program_says(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two sites in one class the interval holds the truth, though one has all sparse slabs and the other none.

    The design draws the same samples in each run, so that the page shows what is printed.
    """
    monkeypatch.setenv("COLUMNS", "100")
    with waiting("sampled", 20_000) as pid:
        answer = call("pins", pid, "--by", "function", "--json")
        text = call("pins", pid, "--by", "function", "--top", 3).out
    assert answer.status == 0, answer.err
    found = json.loads(answer.out)
    rows = {(row["site"], row["size"]): row for row in found["sites"]}
    classes = {row["size"]: row for row in found["classes"]}
    unused = {size: one["slab_bytes"] - one["live_bytes"] for size, one in classes.items()}
    assert unused[96] > 0.8 * 9 * APART * 96
    for site, size, blocks in (
        ("keep_apart", 96, APART),
        ("keep_together", 96, TOGETHER),
        ("keep_alone", 224, HALVES),
    ):
        row = rows[site, size]
        assert row["live_blocks"]["low"] <= blocks - row["samples"] <= row["live_blocks"]["high"]
        assert row["live_blocks"]["high"] - row["live_blocks"]["low"] < 0.5 * blocks  # and it says something
    apart, together, alone = (
        rows[site]["kept_bytes"] for site in (("keep_apart", 96), ("keep_together", 96), ("keep_alone", 224))
    )
    assert apart["low"] < apart["value"] < 0.7 * unused[96] < 0.99 * unused[96] < apart["high"]
    assert together["low"] < 0.01 * unused[96] < together["value"]
    assert alone["low"] > 0.7 * unused[224]
    assert found["samples"] >= sum(row["samples"] for row in found["sites"])
    page = (Path(__file__).resolve().parent.parent / "docs" / "live.md").read_text()
    shown = text.partition("Whose blocks")[2]
    assert shown.count("keep_") == 3
    assert shown.strip() == page.partition("```\nWhose blocks")[2].partition("```")[0].strip()


def test_a_library_without_samples_has_no_sites(call: Call) -> None:
    with waiting("lean", 0) as pid:
        found, text = json.loads(call("pins", pid, "--json").out), call("pins", pid).out
    assert (found["sites"], found["samples"]) == ([], None)
    assert "Whose blocks" not in text


@pytest.mark.parametrize(("command", "is_one"), [("cat", True), ("(cat; :) & cat <&0; wait", False)])
def test_the_pid_of_run_stands_for_the_one_process_that_it_serves(call: Call, command: str, is_one: bool) -> None:
    words = [*PROGRAM, "run", "default", "--", *(["cat"] if is_one else ["sh", "-c", command])]
    with subprocess.Popen(words, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as run:
        assert run.stdin is not None
        assert run.stdout is not None
        run.stdin.write("begun\n")
        run.stdin.flush()
        assert run.stdout.readline() == "begun\n"
        answer = call("pins", run.pid, "--json")
        run.stdin.close()
    if is_one:
        assert json.loads(answer.out)["command"] == ["cat"]
    else:
        assert (answer.status, answer.out) == (2, "")
        assert f"process {run.pid} runs" in answer.err


def test_no_place_of_blocks_is_beyond_the_bounds() -> None:
    """Against blocks of a site put into slabs at random, and into the emptiest and the fullest."""
    draw = np.random.default_rng(5)
    for _ in range(200):
        live = draw.integers(1, 30, draw.integers(1, 20))
        slabs = Slabs(live, draw.integers(0, 4000, len(live)))
        each = np.repeat(slabs.unused / slabs.live, slabs.live)
        count = int(draw.integers(0, len(each) + 1))
        found = slabs.kept(count, count, count)
        ordered = np.sort(each)
        assert found.low == pytest.approx(ordered[:count].sum(), abs=1e-6)
        assert found.high == pytest.approx(ordered[len(each) - count :].sum(), abs=1e-6)
        placed = draw.permutation(each)[:count].sum()
        assert found.low - 1e-6 <= placed <= found.high + 1e-6
        assert found.value == pytest.approx(each.mean() * count)


def test_a_share_is_within_its_interval_95_times_of_100() -> None:
    """Of a population whose blocks are samples with unequal chances; also where all samples are of one site."""
    draw = np.random.default_rng(2)
    inside = 0
    for _ in range(1000):
        count = int(draw.integers(50, 2000))
        own = draw.random(count) < draw.random()
        chance = draw.uniform(0.02, 0.06, count)
        taken = draw.random(count) < chance
        if not taken.any():
            continue
        stands = 1 / chance
        of = share(stands[taken & own], stands[taken])
        inside += of.low <= own.mean() <= of.high
        assert 0 <= of.low <= of.value <= of.high <= 1
    assert inside >= 940
    one = share(np.ones(20), np.ones(20))
    assert (one.value, one.high) == (1, 1)
    assert one.low == pytest.approx(0.025 ** (1 / 20))


def test_a_request_is_in_the_first_class_that_holds_it() -> None:
    """As tools/sampled/pinned.py takes it to be; of the designs that take samples."""
    for name in ("sampled", "sampling-ready", "default"):
        classes = make_plan(load(name)).classes
        usable = np.array([one.usable for one in classes])
        for one in classes:
            assert one.size == one.usable
            assert np.searchsorted(usable, [one.smallest_request, one.usable]).tolist() == [one.index, one.index]
