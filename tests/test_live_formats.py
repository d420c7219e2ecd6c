"""Profiles of a live process in each format: the readers of the formats find the estimates that `profile` prints."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import firefox_profile
import msgspec
import pytest
import viewers
from conftest import Answer
from test_sampled import LARGE, rows, waiting

from heapsmith.tools.profiles.formats import FORMATS

Call = Callable[..., Answer]
Leaves = Counter[str]
"""Of each innermost function the bytes live."""


def of_pprof(file: Path) -> Leaves:
    pytest.importorskip("google.protobuf", reason="pprof's profiles are messages of protobuf")
    words = ("-top", "-symbolize=none", "-unit=B", "-nodefraction=0", "-sample_index=inuse_space", "-functions", file)
    columns = [line.split() for line in viewers.ran(*viewers.pprof(), *words).splitlines()]
    return +Counter({row[5]: int(row[0].removesuffix("B")) for row in columns if len(row) == 6 and row[1][-1] == "%"})


def of_collapsed(file: Path) -> Leaves:
    sums = Leaves()
    for line in file.read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        sums[stack.rpartition(";")[2].partition(" (")[0]] += int(count)
    return sums


def of_speedscope(file: Path) -> Leaves:
    whole, sums = json.loads(file.read_text()), Leaves()
    shown = whole["profiles"][whole["activeProfileIndex"]]
    for stack, weight in zip(shown["samples"], shown["weights"], strict=True):
        sums[whole["shared"]["frames"][stack[-1]]["name"]] += weight
    return sums


def of_firefox(file: Path) -> Leaves:
    whole, sums = msgspec.json.decode(file.read_bytes(), type=firefox_profile.Profile), Leaves()
    for stack, weight in whole.retained(whole.threads[0]):
        sums[stack[0].partition(" (")[0]] += weight
    return sums


def of_perfetto(file: Path) -> Leaves:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="its messages")
    _, packet = protos.Trace.FromString(file.read_bytes()).packet
    data, sums = packet.interned_data, Leaves()
    names = {one.iid: one.str.decode() for one in data.function_names}
    frames = {one.iid: names[one.function_name_id] for one in data.frames}
    leaf = {one.iid: frames[one.frame_ids[-1]] for one in data.callstacks}
    for sample in packet.profile_packet.process_dumps[0].samples:
        sums[leaf[sample.callstack_id]] += sample.self_allocated - sample.self_freed
    return sums


def of_otlp(file: Path) -> Leaves:
    messages = pytest.importorskip("opentelemetry.proto.profiles.v1development.profiles_pb2", reason="its messages")
    whole, sums = messages.ProfilesData.FromString(file.read_bytes()), Leaves()
    of = whole.dictionary
    for sample in whole.resource_profiles[0].scope_profiles[0].profiles[0].samples:
        place = of.location_table[of.stack_table[sample.stack_index].location_indices[0]]
        sums[of.string_table[of.function_table[place.lines[0].function_index].name_strindex]] += sample.values[0]
    return sums


READERS: dict[str, Callable[[Path], Leaves]] = {
    "pprof": of_pprof,
    "collapsed": of_collapsed,
    "speedscope": of_speedscope,
    "firefox": of_firefox,
    "perfetto": of_perfetto,
    "otlp": of_otlp,
}


@pytest.fixture(scope="module")
def profile(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the library of a process wrote of it while it waited."""
    folder = tmp_path_factory.mktemp("profile")
    with waiting(folder) as (process, step):
        step("d")
        (folder / f"asked-{process.pid}.heap").rename(folder / "known.heap")
        process.stdin.close()  # type: ignore[union-attr]
    return folder / "known.heap"


@pytest.mark.thorough
@pytest.mark.parametrize("form", READERS)
def test_a_reader_finds_the_estimates(call: Call, profile: Path, tmp_path: Path, form: str) -> None:
    by: dict[str, Any] = rows(json.loads(call("profile", profile, "--by", "function", "--json").out))
    answer = call("profile", profile, "--by", "function", "--format", form, "-o", tmp_path / "p")
    if answer.status == 3:
        pytest.skip(answer.err)
    assert answer.status == 0, answer.err
    found = READERS[form](tmp_path / "p")
    assert found["keep_large"] == LARGE
    assert found["keep_small"] == pytest.approx(by["keep_small"]["live_bytes"]["value"], abs=1)
    assert sum(found.values()) == pytest.approx(sum(row["live_bytes"]["value"] for row in by.values()), abs=len(found))


@pytest.mark.thorough
def test_the_other_formats(call: Call, profile: Path, tmp_path: Path) -> None:
    """The page has the bytes; DHAT's profile has whole lives, of which a look at a process knows nothing."""
    assert FORMATS.keys() - READERS.keys() == {"html", "dhat"}
    assert call("profile", profile, "--format", "html", "-o", tmp_path / "page.html").status == 0
    for browser in viewers.chromium():
        tab, said = viewers.opened(browser, tmp_path / "page.html")
        tab.wait_for_selector("html[data-ready=yes]")
        label = tab.locator('.flame button[aria-label^="keep_large"]').get_attribute("aria-label")
        assert label.rpartition(": ")[2].startswith("20.0 MiB, ")
        assert said == []
    answer = call("profile", profile, "--format", "dhat", "-o", tmp_path / "d.json")
    assert (answer.status, answer.out) == (2, "")
    assert "--format dhat: it needs " in answer.err
    assert not (tmp_path / "d.json").exists()
