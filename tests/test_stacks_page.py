"""The page of weighted stacks: in a real browser its flame graph shows growth, every quantity, and 5,000 stacks."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import viewers
from conftest import Answer

from heapsmith.tools.profiles.formats import write_profile_file
from heapsmith.tools.profiles.table import Frame, Quantity, Stack, StackTable

QUANTITIES = [
    Quantity("alloc_objects", "count", "requests"),
    Quantity("inuse_space", "bytes", "bytes live at the peak"),
    Quantity("most_space", "bytes", "the most bytes", sums=False),
]
KIB = 1024
Open = Callable[[StackTable], Any]


def stack(*names: str) -> Stack:
    """A stack of functions, the outermost first."""
    return tuple(Frame(name, name, "", 0, "") for name in reversed(names))


def table(rows: dict[Stack, list[int]], before: dict[Stack, list[int]] | None = None) -> StackTable:
    return StackTable("a.hst -> b.hst", "inuse_space", QUANTITIES, rows, before, ["before: <b>"], [])


CHANGE = table(
    {
        stack("main", "grows"): [9, 6 * KIB, 0],
        stack("main", "goes", "deep"): [0, 0, 0],
        stack("main", "stays"): [1, 2 * KIB, 0],
    },
    {
        stack("main", "grows"): [4, 2 * KIB, 0],
        stack("main", "goes", "deep"): [5, 4 * KIB, 0],
        stack("main", "stays"): [1, 2 * KIB, 0],
    },
)
"""Of 12 KiB in width, 6 grow by 4, 4 go, 2 stay."""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    yield from viewers.chromium()


@pytest.fixture
def opened(chromium: Any, tmp_path: Path) -> Iterator[Open]:
    """Opens the page of a table, offline; none may have written an error to the console when the test ends."""
    tabs = []

    def opened(found: StackTable) -> Any:
        page = tmp_path / "of a table.html"
        write_profile_file(found, "html", page)
        tab, said = viewers.opened(chromium, page)
        tab.wait_for_selector("html[data-ready=yes]")
        tabs.append((tab, said))
        return tab

    yield opened
    for tab, said in tabs:
        assert said == []
        tab.context.close()


def labels(tab: Any) -> dict[str, str]:
    """What each frame of the flame graph says, by its name."""
    said = tab.locator(".flame button").evaluate_all("(all) => all.map((one) => one.getAttribute('aria-label'))")
    return dict(one.split(": ", 1) for one in said)


def look(tab: Any, name: str) -> tuple[float, tuple[int, ...]]:
    """A frame's width in parts of the graph's, and its colour: red, green, blue."""
    frame = tab.locator(f'.flame button[aria-label^="{name}:"]')
    whole = tab.locator(".flame").bounding_box()["width"]
    colour = frame.evaluate("(one) => getComputedStyle(one).backgroundColor")
    return frame.bounding_box()["width"] / whole, tuple(map(int, re.findall(r"\d+", colour)[:3]))


@pytest.mark.thorough
def test_a_difference_is_red_where_it_grew_and_blue_where_it_shrank(opened: Open) -> None:
    tab = opened(CHANGE)
    assert labels(tab) == {
        "all": "8.0 KiB before, 8.0 KiB after, 0 B (+0.0 %)",
        "main": "8.0 KiB before, 8.0 KiB after, 0 B (+0.0 %)",
        "grows": "2.0 KiB before, 6.0 KiB after, +4.0 KiB (+200.0 %)",
        "goes": "4.0 KiB before, 0 B after, -4.0 KiB (-100.0 %)",
        "deep": "4.0 KiB before, 0 B after, -4.0 KiB (-100.0 %)",
        "stays": "2.0 KiB before, 2.0 KiB after, 0 B (+0.0 %)",
    }
    (wide, red), (less, blue), (least, grey) = (look(tab, name) for name in ("grows", "goes", "stays"))
    assert [wide, less, least] == pytest.approx([6 / 12, 4 / 12, 2 / 12], abs=0.01)
    assert red[0] > 2 * red[2]
    assert blue[2] > 2 * blue[0]
    assert max(grey) - min(grey) < 20
    rows = tab.locator("table tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["grows", "2.0 KiB", "6.0 KiB", "+4.0 KiB"],
        ["deep", "4.0 KiB", "0 B", "-4.0 KiB"],
        ["stays", "2.0 KiB", "2.0 KiB", "0 B"],
    ]
    assert "before: <b>" in tab.inner_text("#stacks")


@pytest.mark.thorough
def test_quantities_search_and_zoom(opened: Open) -> None:
    tab = opened(CHANGE)
    choice = tab.get_by_label("quantity:")
    assert choice.locator("option").all_inner_texts() == [
        "alloc_objects: requests",
        "inuse_space: bytes live at the peak",
    ]
    tab.get_by_label("search for functions").fill("GO")
    told = tab.locator(".told")
    assert 'Paths with "GO": 4.0 KiB before, 0 B after, -4.0 KiB (-100.0 %).' in told.inner_text()
    assert tab.locator(".flame button.found").count() == 1
    choice.select_option("alloc_objects: requests")
    assert labels(tab)["all"] == "10 before, 10 after, 0 (+0.0 %)"
    assert 'Paths with "GO": 5 before, 0 after, -5 (-100.0 %).' in told.inner_text()
    tab.locator('.flame button[aria-label^="goes:"]').click()
    assert look(tab, "deep")[0] == pytest.approx(1, abs=0.01)
    assert "grows" not in labels(tab)
    tab.locator('.flame button[aria-label^="all:"]').click()
    assert "grows" in labels(tab)
    tab.get_by_text("As a tree").click()
    assert tab.locator("details summary").nth(1).inner_text().startswith("main: 10 before")


@pytest.mark.thorough
def test_five_thousand_stacks_are_readable(opened: Open) -> None:
    """The graph has the whole width, no frame is too narrow to click, and a click shows those that were left out."""
    rows = {
        stack("main", f"part{n % 50}", f"call{n % 500}", *(f"deep{n % 500}.{k}" for k in range(n % 25)), f"site{n}"): n
        for n in range(5000)
    }
    tab = opened(table({one: [1, 64 + n, 0] for one, n in rows.items()}, {one: [1, 64, 0] for one in rows}))
    tab.set_viewport_size({"width": 1400, "height": 900})
    graph = tab.locator(".flame")
    assert graph.bounding_box()["width"] > 0.9 * 1400
    narrow = "(all) => Math.min(...all.map((one) => one.getBoundingClientRect().width))"
    assert tab.locator(".flame button").evaluate_all(narrow) > 1
    assert "site4990" not in labels(tab)
    shown = [name for name in labels(tab) if name.startswith("call")]
    assert len(shown) > 300
    tab.get_by_label("search for functions").fill("site4990")
    assert 'Paths with "site4990": 64 B before, 4.9 KiB after' in tab.locator(".told").inner_text()
    tab.locator('.flame button[aria-label^="call490:"]').click()
    assert tab.locator(".flame button.found").count() == 1
    assert tab.evaluate("document.documentElement.scrollWidth") <= 1400


@pytest.mark.thorough
def test_one_table_has_shares_and_no_colours_of_growth(opened: Open) -> None:
    tab = opened(table({stack("main", "more"): [1, 3 * KIB, 0], stack("main", "less"): [3, KIB, 0]}))
    assert labels(tab)["more"] == "3.0 KiB, 75.0 %"
    assert look(tab, "more")[1] == look(tab, "less")[1]
    assert tab.locator(".key").count() == 0
    assert tab.locator("table tbody tr").all_inner_texts() == ["more\t3.0 KiB", "less\t1.0 KiB"]


@pytest.mark.thorough
@pytest.mark.parametrize("command", ["sites", "leaks", "diff"])
def test_the_commands_write_it(
    opened: Open, chromium: Any, call: Callable[..., Answer], tmp_path: Path, command: str
) -> None:
    """The page of a trace has the bytes that the command's own table has."""
    traces = viewers.traces_of_program(tmp_path)
    page = tmp_path / "page.html"
    answer = call(command, *traces[: 2 if command == "diff" else 1], "--format", "html", "-o", page)
    assert (answer.status, answer.out) == (0, "")
    tab, said = viewers.opened(chromium, page)
    tab.wait_for_selector("html[data-ready=yes]")
    assert any(name.startswith("make_node") for name in labels(tab))
    text = page.read_text()
    assert "https://" not in text
    assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
    assert said == []
    tab.context.close()
