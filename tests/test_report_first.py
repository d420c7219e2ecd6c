"""The report's first screen answers three questions, with 3 call sites and with 5,000, on a desk and on a telephone.

SCREENS=docs pytest tests/test_report_first.py keeps what the browser shows as pictures of the manual.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import viewers

from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.stacks import CallTree, Module
from heapsmith.model.trace.writer import TraceWriter

pytestmark = pytest.mark.thorough

FEW, MANY = 3, 5_000
HEIGHTS = {1300: 900, 400: 1000}
DESK = 1000
"""On wider screens single views are pictures too."""
PICTURES = {(FEW, 1300), (MANY, 400)}
QUESTIONS = ["What is the heap for?", "What would another design bring?", "What should you do next?"]


def planted(path: Path, sites: int) -> Path:
    """Write a trace with this number of call sites, each in its own function. The first holds most bytes."""
    blocks = max(sites, 2000)
    size = [4000 if block % sites == 0 else 40 + block % 400 for block in range(blocks)]
    births = [(Op.MALLOC, 0, block, size[block]) for block in range(blocks)]
    deaths = [(Op.FREE, 0, block, 0) for block in range(blocks) if block % 7]
    columns = [list(column) for column in zip(*births, *deaths, strict=True)]
    events = len(births) + len(deaths)
    site = [1 + block % sites for block in range(blocks)] + [0] * len(deaths)
    frames = np.arange(sites)
    tree = CallTree([Module("/no/program", None)], np.full(sites, -1), np.zeros(sites, np.int64), frames, frames)
    with TraceWriter(path, command=["./service", "--port", "80"], source="test", sites=True) as writer:
        writer.append(Chunk.of(*columns, [0] * events, [at * 1000 for at in range(events)]), np.array(site, np.uint32))
        writer.close({"stacks": tree.packed()})
    return path


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[int, Path]:
    """The reports of the planted traces, by their numbers of sites."""
    from heapsmith.tools.forge.page import write_report

    folder = tmp_path_factory.mktemp("pages")
    with contextlib.chdir(folder):  # so that the commands on the page name no folder
        for sites in (FEW, MANY):
            write_report(folder / f"{sites}.html", [planted(Path(f"service-{sites}.hst"), sites)], [])
    return {sites: folder / f"{sites}.html" for sites in (FEW, MANY)}


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from viewers.chromium()


@pytest.mark.parametrize("sites", [FEW, MANY])
@pytest.mark.parametrize("width", HEIGHTS)
def test_the_first_screen_answers(
    pages: dict[int, Path], chromium: Any, tmp_path: Path, sites: int, width: int
) -> None:
    view = {"width": width, "height": HEIGHTS[width]}
    context = chromium.new_context(viewport=view, offline=True, color_scheme="light")
    tab = context.new_page()
    tab.goto(pages[sites].as_uri())
    tab.wait_for_selector("html[data-ready=yes]")
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("#verdict h3").all_inner_texts() == QUESTIONS
    told, commands = tab.inner_text("#verdict"), tab.locator("#verdict pre")
    assert f"service-{sites}.hst: the program has at most " in told
    assert "The largest call sites: program+0x0 " in told
    assert "predicted at the peak: default " in told
    assert "At the end of the trace: default " in told
    assert "heapsmith forge -o out -- ./service --port 80" in commands.inner_text()
    box = commands.bounding_box()
    assert box["y"] + box["height"] <= HEIGHTS[width]
    assert commands.evaluate("(one) => one.scrollWidth - one.clientWidth") == 0
    kept = Path((os.environ.get("SCREENS") if (sites, width) in PICTURES else None) or tmp_path)
    tab.screenshot(path=kept / f"report-first-{width}.png")
    if width > DESK:
        first, last = (tab.locator(view).bounding_box() for view in ("#timeline", "#map"))
        both = first | {"height": last["y"] + last["height"] - first["y"]}
        tab.screenshot(path=kept / "report.png", full_page=True, clip=both)
        tab.locator("#sites").screenshot(path=kept / "report-sites.png")
    assert all(picture.stat().st_size > 10_000 for picture in kept.glob("report*.png"))
    context.close()
