"""`heapsmith profile` where no sample was taken, or none is any more: intervals at the mean, a word, or no figures."""

import json
import math
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from conftest import Answer
from preloaded import library
from test_sampled_thread import waiting

from heapsmith.tools.common.preload import preloadable
from heapsmith.tools.sampled.switch import switched

Call = Callable[..., Answer]
MEAN = 524_288
LITTLE = ["perl", "-e", "exit 7"]


@contextmanager
def idle(design: str) -> Iterator[int]:
    """A process that asked for little memory, and waits."""
    added = {"LD_PRELOAD": preloadable(library(design, checked=False)), "HEAPSMITH": ""}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(["sh", "-c", "echo; read x"], env=os.environ | added, **pipes) as run:  # type: ignore[call-overload]
        run.stdout.readline()
        yield run.pid
        run.stdin.close()


def says_how_little(answer: Answer, mean: int) -> None:
    """No sample, so that with 97.5 % certainty there was less than -ln(0.025) means."""
    found = json.loads(answer.out)
    assert (found["taken"], found["mean_bytes"]) == (0, mean)
    assert "no sample was taken" in found["reasons"][0]
    for name in ("live_bytes", "live_blocks", "allocated_bytes"):
        estimate = found["total"][name]
        assert (estimate["value"], estimate["low"]) == (0, 0)
        assert estimate["high"] == pytest.approx(-math.log(0.025) * mean)


@pytest.mark.parametrize("mean", [None, 5_000_000])
def test_a_command_without_a_sample_has_an_interval_at_the_mean(call: Call, mean: int | None) -> None:
    words = [] if mean is None else ["--mean", mean]
    answer = call("profile", "--json", *words, "--", *LITTLE)
    assert answer.status == 7
    says_how_little(answer, mean or MEAN)
    if mean is None:
        shown = call("profile", "--", *LITTLE)
        assert "[0 B, 1.8 MiB] live, 0 samples of blocks, one each 512.0 KiB" in " ".join(shown.out.split())
        assert shown.err.startswith("heapsmith: no sample was taken")


def test_a_process_and_its_file_without_a_sample(call: Call, tmp_path: Path) -> None:
    with idle("sampled") as pid:
        says_how_little(call("profile", pid, "--json"), MEAN)
    file = tmp_path / "few.heap"
    added = {"LD_PRELOAD": preloadable(library("sampled", checked=False)), "HEAPSMITH": f"profile={file}"}
    subprocess.run(["true"], env=os.environ | added, check=True)
    says_how_little(call("profile", file, "--json"), MEAN)


def test_sampling_that_is_off_shows_nothing(call: Call) -> None:
    with idle("sampling-ready") as pid:
        for words in ((), ("--json",), ("--seconds", "0.01s"), ("--format", "collapsed")):
            answer = call("profile", pid, *words)
            assert (answer.status, answer.out) == (2, "")
            assert f"{pid}: took no sample, and sampling is off; switch it on by" in answer.err
        switched = call("profile", pid, "--seconds", "0.01s", "--mean", 9999, "--json")
        says_how_little(switched, 9999)
        assert "samples were off before" in switched.err
    for command, status in (("exit 7", 7), ("exit 0", 2)):
        answer = call("profile", "--lib", "sampling-ready", "--", "perl", "-e", command)
        assert (answer.status, answer.out) == (status, "")
        assert "sampling is off" in answer.err


@pytest.mark.parametrize("lib", ["default", "glibc"])
def test_a_library_that_takes_none_is_refused_before_the_command_runs(call: Call, tmp_path: Path, lib: str) -> None:
    answer = call("profile", "--lib", lib, "--", "touch", tmp_path / "ran")
    assert (answer.status, answer.err.count("\n")) == (2, 1)
    assert f"{lib}: takes no samples; expected a design with [sampling]" in answer.err
    assert not (tmp_path / "ran").exists()


def test_sampling_that_was_on_for_a_while_says_since_when_it_is_off(call: Call) -> None:
    """The figures stand: they are of what was allocated while it was on."""
    with waiting("sampling-ready") as at:
        pid, said = at.process.pid, "sampling is off: what was allocated since then is in no figure; the newest sample"
        with switched(pid, 10_000, None):
            at.say("a")
            assert said not in call("profile", pid).err
        at.say("a")
        shown = call("profile", pid)
        assert said in " ".join(shown.err.split())
        found = json.loads(call("profile", pid, "--json").out)
        age_s = float(found["reasons"][0].split()[-3])
        assert found["reasons"][0].startswith(said)
        assert 0 <= age_s < time.monotonic()
        assert found["total"]["live_bytes"]["value"] > 0
