"""The report page: its data, its command, and its views in a real browser, which must name a planted pin."""

import base64
import json
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viewers
from conftest import Answer
from traces import random_trace

from heapsmith.model.design.design import load
from heapsmith.model.predict.history import histories
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.page.contents import Shown
from heapsmith.tools.page.payload import Payload
from heapsmith.tools.page.series import write_series

WAVE = 4000
"""Blocks of 64 bytes that come and go in the planted trace; one in the middle of them stays."""
PIN = WAVE // 2


def planted(path: Path) -> Path:
    """A trace whose block PIN of 64 bytes pins a slab after all others of its wave died; it has a site of its own."""
    births = [(Op.MALLOC, 0, block, 64) for block in range(WAVE)]
    deaths = [(Op.FREE, 0, block, 0) for block in range(WAVE) if block != PIN]
    events = births + deaths
    columns = [list(column) for column in zip(*events, strict=True)]
    zeros = [0] * len(events)
    site = [1 + (block == PIN) if op == Op.MALLOC else 0 for op, _, block, _ in events]
    parent, frames = np.full(2, -1), np.arange(2)
    tree = CallTree([Module("/no/program", None)], parent, np.zeros(2, np.int64), frames, frames)
    with TraceWriter(path, command=["planted", "pin"], source="test", sites=True) as writer:
        chunk = Chunk.of(*columns, zeros, [index * 1000 for index in range(len(events))])
        writer.append(chunk, np.array(site, np.uint32))
        writer.close({"stacks": tree.packed()})
    return path


def unpacked(page: str) -> tuple[dict[str, Any], bytes]:
    """The JSON of a page, and its arrays."""
    text = page.split('<script id="data" type="text/plain">')[1].split("</script>")[0]
    raw = zlib.decompress(base64.b64decode(text))
    (length,) = struct.unpack("<Q", raw[:8])
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def numbers(value: dict[str, Any], arrays: bytes) -> list[float]:
    """The numbers of an array that the JSON refers to."""
    kind, offset, length = value["array"]
    found: list[float] = np.frombuffer(arrays, f"<{kind}", length, offset).tolist()
    return found


def test_payload_clips_aligns_and_keeps_what_is_not_zero() -> None:
    payload = Payload()
    first, second = payload.array([1, 70_000, -5], "u2"), payload.shares(np.array([0, 1, 4096]), 4096)
    third = payload.array([1 << 53], "f8")
    found, arrays = unpacked(f'<script id="data" type="text/plain">{payload.text([first, second, third])}</script>')
    assert [numbers(one, arrays) for one in found] == [[1, 65_535, 0], [0, 1, 255], [1 << 53]]  # type: ignore[arg-type]
    assert all(one["array"][1] % 8 == 0 for one in found)  # type: ignore[index]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of the planted trace, in a folder with a space in its name."""
    from heapsmith.tools.forge.page import write_report

    folder = tmp_path_factory.mktemp("with space")
    write_report(folder / "report.html", [planted(folder / "pin.hst")], [], glibc=True)
    return folder / "report.html"


def test_page_holds_the_bytes_of_the_designs(page: Path) -> None:
    text = page.read_text()
    found, arrays = unpacked(text)
    trace = found["traces"][0]
    assert (trace["name"], trace["events"], trace["command"]) == ("pin.hst", 2 * WAVE - 1, "planted pin")
    assert [design["name"] for design in trace["designs"]] == ["default", "lean"]
    assert max(numbers(trace["time"]["asked"]["high"], arrays)) == 64 * WAVE
    for design in trace["designs"]:
        items = len(design["items"])
        last = numbers(design["ledgers"], arrays)[-items:]
        assert sum(last) == numbers(design["committed"]["last"], arrays)[-1]
        assert last[design["items"].index("asked")] == 64
    measured = text.split('<section id="bytes">')[1].split("</section>")[0]
    assert "pin.hst at the peak of the live bytes, measured" in measured
    assert f'<td class="text">asked</td><td>{64 * WAVE:,}</td>' in measured
    assert f'<td class="text">rounding</td><td>{16 * WAVE:,}</td>' in measured  # a chunk has 80 bytes
    assert "https://" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")


@pytest.mark.big
def test_page_of_ten_million_events_is_small(tmp_path: Path) -> None:
    from heapsmith.tools.forge.page import write_report

    trace = random_trace(tmp_path / "t.hst", 10_000_000, 5, 8, cross_thread=0.2, max_size=4000)
    assert write_report(tmp_path / "report.html", [trace], []).bytes < 3_000_000


def test_command_names_what_it_wrote(tmp_path: Path, call: Callable[..., Answer]) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="the series is a table of pyarrow")
    trace = planted(tmp_path / "pin.hst")
    series = tmp_path / "lines.parquet"
    asked = ["--design", "lean", "--machine", "default", "--series", series]
    answer = call("report", trace, *asked, "-o", tmp_path / "a.html", "--json")
    found = json.loads(answer.out)
    assert (found["file"], found["traces"], found["designs"]) == (str(tmp_path / "a.html"), [str(trace)], ["lean"])
    assert found["bytes"] == (tmp_path / "a.html").stat().st_size
    told, arrays = unpacked((tmp_path / "a.html").read_text())
    resident = numbers(told["traces"][0]["designs"][0]["resident"], arrays)
    assert max(resident) > 64 * WAVE
    lines = parquet.read_table(series).to_pydict()
    assert lines["resident_last"] == resident
    assert lines["committed_high"] == numbers(told["traces"][0]["designs"][0]["committed"]["high"], arrays)
    assert set(lines["design"]) == {"lean"}
    assert lines["event"][-1] == 2 * WAVE - 2


def test_series_as_a_chrome_trace(tmp_path: Path) -> None:
    trace = planted(tmp_path / "pin.hst")
    found = histories(trace, [load("lean")])
    write_series(tmp_path / "lines.json", [Shown(trace, trace_info(trace), found)])
    name, *events = json.loads((tmp_path / "lines.json").read_text())["traceEvents"]
    assert (name["ph"], name["pid"], name["args"]) == ("M", 1, {"name": "pin.hst"})
    assert [event["ts"] * 1000 for event in events] == found.time_ns
    assert [event["args"]["committed"] for event in events] == found.rows[0].committed.high
    assert {(event["ph"], event["pid"], event["name"]) for event in events} == {("C", 1, "lean: bytes")}


def test_series_of_no_known_format_are_refused(tmp_path: Path, call: Callable[..., Answer]) -> None:
    answer = call("report", planted(tmp_path / "t.hst"), "-o", tmp_path / "a.html", "--series", tmp_path / "a.csv")
    assert answer.status == 2
    assert "a.csv: expected a name that ends in .json (Chrome trace) or .parquet" in answer.err
    assert not (tmp_path / "a.html").exists()


@pytest.mark.parametrize(
    ("sources", "said"),
    [
        (["absent.hst"], "absent.hst: cannot read the trace: No such file or directory"),
        (["."], "report.json: cannot read the report of a forge: No such file or directory"),
        ([".", "pin.hst"], "expected the folder of one forge, or traces"),
    ],
)
def test_sources_are_refused(tmp_path: Path, call: Callable[..., Answer], sources: list[str], said: str) -> None:
    planted(tmp_path / "pin.hst")
    answer = call("report", *(tmp_path / source for source in sources), "-o", tmp_path / "a.html")
    assert answer.status == 2
    assert said in answer.err
    assert answer.err.count("\n") == 1
    assert not (tmp_path / "a.html").exists()


def test_report_of_another_version_is_refused(tmp_path: Path, call: Callable[..., Answer]) -> None:
    (tmp_path / "report.json").write_text("{}")
    answer = call("report", tmp_path, "-o", tmp_path / "a.html")
    assert answer.status == 2
    assert "expected the report of this version's forge" in answer.err


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from viewers.chromium()


def opened(chromium: Any, page: Path) -> tuple[Any, list[str]]:
    """A page in the browser, offline, and what it writes to the console."""
    context = chromium.new_context(viewport={"width": 1100, "height": 900}, offline=True, accept_downloads=True)
    tab, said = context.new_page(), list[str]()
    tab.on("console", lambda message: said.append(message.text))
    tab.on("pageerror", lambda error: said.append(str(error)))
    tab.goto(page.as_uri())
    tab.wait_for_selector("html[data-ready=yes]")
    return tab, said


@pytest.fixture
def view(chromium: Any, page: Path) -> Iterator[Any]:
    """The page, open and offline; it must have written nothing to the console when the test ends."""
    tab, said = opened(chromium, page)
    yield tab
    assert said == []
    tab.context.close()


def colours(tab: Any, canvas: str) -> int:
    """How many colours a canvas has."""
    counted = (
        "(c) => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    found: int = tab.eval_on_selector(canvas, counted)
    return found


@pytest.mark.thorough
def test_every_view_draws(view: Any) -> None:
    assert colours(view, "#timeline canvas") > 5
    assert view.locator("#map canvas").count() == 2
    assert colours(view, "#map canvas") > 2
    assert view.locator("#bytes svg").count() == 2
    assert view.locator("#bytes rect").count() > 4
    assert view.locator("#classes table").count() == 2
    assert view.locator("#lives rect.cell").count() == 2  # all but one block live as long; the pin never dies
    assert view.locator("#lives path.curve").count() == 2
    assert "No search is part of this report" in view.inner_text("#search")


@pytest.mark.thorough
def test_map_names_the_block_that_pins_a_slab(view: Any) -> None:
    """At the end one block is live: the place on the map where it lies names it, a free place names none."""
    view.locator("input[type=range]").focus()
    view.keyboard.press("End")
    wave = view.locator("#map canvas").nth(1)
    box = wave.bounding_box()
    columns = view.locator("#map h3").nth(1).inner_text()
    assert columns.startswith("lean: ")
    wave.click(position={"x": box["width"] - 1, "y": box["height"] * pinned_share(view, 1)})
    told = view.inner_text("#map .told")
    assert told.startswith("lean, slab span")
    assert (
        f"The oldest: block {PIN}, 64 B, born at event {PIN:,} by program+0x1, {2 * WAVE - 2 - PIN:,} events ago."
        in told
    )
    view.keyboard.press("PageUp")
    assert "The oldest" not in view.inner_text("#map .told")


def pinned_share(view: Any, design: int) -> float:
    """Where on the map the pinning block lies, as a share of its height: from the page's own data."""
    page = Path(view.evaluate("decodeURIComponent(location.pathname)"))
    found, arrays = unpacked(page.read_text())
    drawn = found["traces"][0]["designs"][design]["map"]
    last = numbers(drawn["blocks"], arrays)[-drawn["columns"] :]
    return (last.index(1) + 0.5) / len(last)


@pytest.mark.thorough
def test_flame_graph_shows_paths_zooms_and_finds(view: Any) -> None:
    """At the peak the wave has all but 64 of the bytes; at the end the pin has all, and keeps a slab."""
    frames = view.locator("#sites .flame button")
    names = [one.get_attribute("aria-label") for one in frames.all()]
    whole = 64 * WAVE // 1024
    assert names == [f"all: {whole} KiB, 100.0 %", f"program+0x0: {whole} KiB, 100.0 %"]  # the pin is too narrow
    assert view.locator("#sites table").first.locator("tbody tr").count() == 2
    view.locator("input[type=range]").focus()
    view.keyboard.press("End")
    assert [one.get_attribute("aria-label") for one in frames.all()] == [
        "all: 64 B, 100.0 %",
        "program+0x1: 64 B, 100.0 %",
    ]
    frames.nth(1).click()
    assert "zoomed" in frames.nth(1).get_attribute("class")
    view.get_by_label("search for functions").fill("X0")
    assert 'Paths with "X0": 0 B, 0.0 %.' in view.inner_text("#sites .told")
    frames.nth(0).click()
    view.get_by_label("bytes:").select_option("asked for in the whole trace, recorded")
    assert view.locator("#sites .flame button.found").count() == 1
    share = f"{100 * (WAVE - 1) / WAVE:.1f} %"
    assert f'Paths with "X0": {whole} KiB, {share}.' in view.inner_text("#sites .told")
    view.get_by_label("bytes:").select_option("pinned under lean at the end, predicted")
    slab = view.locator("#sites .flame button").nth(1).get_attribute("aria-label")
    assert slab.startswith("program+0x1: ")
    assert slab.endswith("KiB, 100.0 %")  # of the slab, which one block of 64 bytes keeps
    view.get_by_text("As a tree").click()
    assert view.locator("#sites details .leaf").inner_text() == slab
    leaks = view.locator("#sites table").nth(1)
    assert leaks.locator("tbody td").all_inner_texts() == [
        "program+0x1",
        "came once",
        "1",
        "64 B",
        f"{PIN:,}",
        f"{PIN:,}",
    ]


@pytest.mark.thorough
def test_time_line_zooms_and_moves(view: Any) -> None:
    chart = view.locator("#timeline canvas")
    chart.focus()
    before = view.inner_text("#timeline .told")
    view.keyboard.press("ArrowLeft")
    assert view.inner_text("#timeline .told") != before
    whole = chart.evaluate("(canvas) => canvas.toDataURL()")
    box = chart.bounding_box()
    view.mouse.move(box["x"] + 300, box["y"] + 80)
    view.mouse.down()
    view.mouse.move(box["x"] + 500, box["y"] + 80)
    view.mouse.up()
    assert chart.evaluate("(canvas) => canvas.toDataURL()") != whole
    view.get_by_role("button", name="Whole trace").click()
    assert chart.evaluate("(canvas) => canvas.toDataURL()") == whole


@pytest.mark.thorough
def test_tables_sort_by_a_click(view: Any) -> None:
    sizes = "#classes table:first-of-type tbody tr td:first-child"
    head = view.locator("#classes table").first.get_by_role("button", name="block")
    head.click()
    first = view.locator(sizes).first.inner_text()
    head.click()
    assert view.locator("#classes table").first.locator("th").first.get_attribute("aria-sort") == "ascending"
    assert view.locator(sizes).first.inner_text() != first


def test_views_have_names_and_fit_a_phone(view: Any) -> None:
    """Every canvas, chart, button and field has a name for those who cannot see it; nothing is wider than 360 px."""
    nameless = """() => [...document.querySelectorAll('canvas, svg, [role=img], [role=region], input, select, button')]
        .filter((one) => !(one.getAttribute('aria-label') || one.textContent.trim())).length"""
    assert view.evaluate(nameless) == 0
    view.set_viewport_size({"width": 360, "height": 800})
    assert view.evaluate("document.documentElement.scrollWidth") <= 360
    view.emulate_media(color_scheme="dark")
    assert view.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(21, 24, 27)"


@pytest.mark.thorough
def test_front_tells_its_designs_and_gives_their_toml(chromium: Any, page: Path, tmp_path: Path) -> None:
    """A page with a front of two designs and with measured ratios: the data of the planted page, and these."""
    text = page.read_text()
    found, arrays = unpacked(text)
    member = {"score": 0.9, "p999_ns": None, "classes": 12}
    ratios = {"time": 0.9, "peak": 0.8, "average": 1.0, "end": 1.1}
    found["search"] = {
        "objectives": list(ratios),
        "front": [
            member | {"hash": "aaaa", "chosen": True, "ratios": ratios, "toml": 'name = "a"\n'},
            member | {"hash": "bbbb", "chosen": False, "ratios": ratios | {"time": 0.7}, "toml": 'name = "b"\n'},
        ],
        "worth": [{"fields": ["empties"], "chosen": "fifo", "base": "lifo", "without": {"time": 1.25, "peak": 0.99}}],
        "reasons": [{"field": "empties", "chosen": "fifo", "why": "because", "figures": {}}],
    }
    found["measured"] = {
        "reference": "glibc",
        "rounds": 9,
        "rows": [
            {"library": name, "ratios": {"CPU": [cpu, cpu - 0.01, cpu + 0.01], "peak RSS": [1.0, None, None]}}
            for name, cpu in (("glibc", 1.0), ("tuned", 0.8))
        ],
    }
    payload = Payload()
    payload.array(np.frombuffer(arrays, np.uint8), "u1")
    old = text.split('<script id="data" type="text/plain">')[1].split("</script>")[0]
    (tmp_path / "front.html").write_text(text.replace(old, payload.text(found)))
    tab, said = opened(chromium, tmp_path / "front.html")
    assert tab.locator("#ratios circle.ratio").count() == 4
    assert "0.80" in tab.locator("#ratios").text_content()
    assert tab.locator("#search circle.member").count() == 2
    other = tab.locator("#search circle.member").nth(1)
    other.hover()
    assert tab.inner_text("#search .told").startswith("bbbb: time 0.700, peak 0.800, average 1.000, end 1.100 of")
    with tab.expect_download() as download:
        other.click()
    assert download.value.suggested_filename == "design-bbbb.toml"
    assert Path(download.value.path()).read_text() == 'name = "b"\n'
    assert "+25.0 %" in tab.inner_text("#search")
    assert said == []
    tab.context.close()
