"""Do the programs that people look at profiles with read those of heapsmith, and show the figures of `sites`?"""

import json
import os
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import viewers
from conftest import Answer

from heapsmith.tools.common.units import amount

Call = Callable[..., Answer]

WHOLE = ("-symbolize=none", "-unit=B", "-nodefraction=0", "-edgefraction=0", "-nodecount=1000000")
"""Options by which pprof shows all rows, in bytes."""


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return viewers.traces_of_program(tmp_path_factory.mktemp("paths"))


def made(call: Call, out: Path, command: str, *words: Any) -> Path:
    """A profile that a command wrote."""
    answer = call(command, *words, "-o", out)
    assert answer.status == 0, answer.err
    return out


def top(*words: str | Path) -> dict[str, int]:
    """What `pprof -top` shows as flat, by name."""
    lines = viewers.ran(*viewers.pprof(), "-top", *WHOLE, *words).splitlines()
    first = next(number for number, line in enumerate(lines) if line.split()[:1] == ["flat"])
    rows = [line.split(maxsplit=5) for line in lines[first + 1 :]]
    return {row[5]: int(row[0].removesuffix("B")) for row in rows if row[0] != "0"}


@pytest.mark.parametrize("by", ["site", pytest.param("function", marks=pytest.mark.thorough)])
def test_pprof_top_is_sites_to_the_byte(call: Call, traces: tuple[Path, Path], tmp_path: Path, by: str) -> None:
    pytest.importorskip("google.protobuf", reason="pprof's profiles are messages of protobuf")
    viewers.pprof()
    profile = made(call, tmp_path / "p.pb.gz", "sites", traces[0], "--by", by, "--format", "pprof")
    found = json.loads(call("sites", traces[0], "--by", by, "--no-advice", "--json").out)
    value: dict[str, Callable[[Any], int]] = {
        "alloc_space": lambda row: int(row["bytes"]),
        "inuse_objects": lambda row: int(row["peak_blocks"]),
        "pinned_default": lambda row: int(row["after"][0]["pinned"]),
        "waste_default": lambda row: int(row["after"][0]["pinned"] - row["after"][0]["block_bytes"]),
    }
    for name, of in value.items():
        shown = top("-lines" if by == "site" else "-functions", f"-sample_index={name}", profile)
        shown = {row.removesuffix(" (inline)"): count for row, count in shown.items() if not row.startswith("[")}
        expected = Counter({row["name"].replace("(", "").replace(")", ""): of(row) for row in found["sites"]})
        assert shown == dict(+expected), name
        assert shown
        if name == "pinned_default":
            table = call("sites", traces[0], "--by", by, "--no-advice").out
            assert all(amount(count) in table for count in shown.values())


@pytest.mark.thorough
def test_pprof_shows_a_difference_as_with_diff_base(call: Call, traces: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("google.protobuf", reason="pprof's profiles are messages of protobuf")
    viewers.pprof()
    change = made(call, tmp_path / "change", "diff", *traces, "--by", "site", "--format", "pprof")
    one, two = (made(call, tmp_path / trace.stem, "sites", trace, "--format", "pprof") for trace in traces)
    for name in ("alloc_space", "end_objects"):
        select = f"-sample_index={name}"
        shown = top("-lines", select, change)
        assert shown == top("-lines", select, f"-diff_base={one}", two)
        assert min(shown.values()) < 0
    both = [change], [f"-diff_base={one}", two]
    lines = [viewers.ran(*viewers.pprof(), "-top", "-sample_index=alloc_space", *words).splitlines() for words in both]
    totals = [next(line.partition("accounting for")[2] for line in row if "accounting for" in line) for row in lines]
    assert totals[0] == totals[1]


@pytest.mark.thorough
def test_flame_graphs_of_collapsed_stacks(call: Call, traces: tuple[Path, Path]) -> None:
    command = viewers.flamegraph()
    weighted = ("--format", "collapsed", "--weight", "alloc_space", "--by", "function")
    picture = viewers.ran(*command, text=call("sites", traces[0], *weighted).out)
    found = json.loads(call("sites", traces[0], "--by", "function", "--no-advice", "--json").out)
    shown = {
        name: int(count.replace(",", "")) for name, count in re.findall(r"<title>(\S+) \(([\d,]+) samples", picture)
    }
    for row in found["sites"]:
        if row["name"] == "table":
            assert shown["table"] == row["bytes"]
    assert shown["all"] == sum(row["bytes"] for row in found["sites"])
    change = viewers.ran(*command, text=call("diff", *traces, *weighted).out)
    assert re.search(r"<title>make_node \(118,800 [^<]*; -0\.\d+%", change)


@pytest.mark.big  # the program comes from its registry, by network
def test_speedscope_takes_the_file_by_its_schema(call: Call, traces: tuple[Path, Path]) -> None:
    jsonschema = pytest.importorskip("jsonschema", reason="no package jsonschema")
    package = viewers.npm_package("speedscope", "1.25.0")
    [schema] = package.rglob("file-format-schema.json")
    for words in (("sites", traces[0]), ("leaks", traces[0]), ("diff", *traces)):
        file = json.loads(call(*words, "--format", "speedscope").out)
        jsonschema.validate(file, json.loads(schema.read_text()))
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**file, "profiles": [{"type": "sampled"}]}, json.loads(schema.read_text()))


@pytest.fixture(scope="module")
def browser() -> Any:
    """A headless browser of the distribution, driven by Playwright."""
    yield from viewers.chromium()


@pytest.mark.big  # the program comes from its registry, by network
def test_speedscope_opens_the_file(browser: Any, call: Call, traces: tuple[Path, Path], tmp_path: Path) -> None:
    package = viewers.npm_package("speedscope", "1.25.0")
    [page] = package.rglob("index.html")
    profile = made(call, tmp_path / "p.json", "sites", traces[0], "--by", "function", "--format", "speedscope")
    tab, said = viewers.opened(browser, page)
    tab.set_input_files("input[type=file]", str(profile), timeout=300_000)
    tab.wait_for_function("document.title.endsWith(' - speedscope')", timeout=300_000)
    assert os.fspath(traces[0]) in tab.title()
    assert "inuse_space: bytes live at the peak (4/10)" in tab.inner_text("body")
    assert said == []


@pytest.mark.thorough
def test_dh_view_shows_the_file(browser: Any, call: Call, traces: tuple[Path, Path], tmp_path: Path) -> None:
    page = viewers.dh_view()
    profile = made(call, tmp_path / "p.json", "sites", traces[0], "--format", "dhat")
    found = json.loads(call("sites", traces[0], "--no-advice", "--json").out)
    tab, said = viewers.opened(browser, page)
    tab.set_input_files("input[type=file]", str(profile), timeout=300_000)
    tab.wait_for_function("document.body.innerText.includes('PP 1/1')", timeout=300_000)
    shown = tab.inner_text("body")
    assert said == []
    total = {
        name: sum(row[name] for row in found["sites"]) for name in ("bytes", "requests", "peak_bytes", "end_bytes")
    }
    assert f"{total['bytes']:,} bytes (100%" in shown
    assert f"{total['requests']:,} blocks (100%" in shown
    assert f"At t-gmax: {total['peak_bytes']:,} bytes" in shown
    assert f"At t-end:  {total['end_bytes']:,} bytes" in shown
    assert "make_node (profile_paths.c:" in shown


@pytest.mark.big  # the program comes from its registry, by network
def test_the_collector_decodes_otlp(call: Call, traces: tuple[Path, Path], tmp_path: Path) -> None:
    pytest.importorskip("opentelemetry.proto", reason="OTLP's messages are those of opentelemetry-proto")
    decoder = viewers.otlp_decoder()
    profile = made(call, tmp_path / "p.otlp", "sites", traces[0], "--format", "otlp")
    found = json.loads(call("sites", traces[0], "--no-advice", "--json").out)
    sums: dict[tuple[str, str], int] = {}
    for line in viewers.ran(decoder, profile).splitlines():
        quantity, name, file, number, value = line.split("\t")
        sums[quantity, f"{name} ({file}:{number})"] = sums.get((quantity, f"{name} ({file}:{number})"), 0) + int(value)
    for quantity, field in (("alloc_space", "bytes"), ("inuse_objects", "peak_blocks")):
        expected = {row["name"]: row[field] for row in found["sites"] if row[field] and "+" not in row["name"]}
        shown = {name: count for (of, name), count in sums.items() if of == quantity}
        assert expected.items() <= shown.items()
        assert len(expected) >= 2
