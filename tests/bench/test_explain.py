"""docs/explain, docs/model.md: their numbers are those of the plan of `default`, of its C, and of the recording."""

import re
from html.parser import HTMLParser
from pathlib import Path

import pytest

from heapsmith.bench.common import svg
from heapsmith.bench.gates import drawings
from heapsmith.bench.studies.explained import Demo, read
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed

DOCS = drawings.FOLDER.parent
PAGES = {name: " ".join((DOCS / name).read_text().split()) for name in
         ("explain/generated-malloc.md", "model.md", "explain/search.md")}  # fmt: skip
PAGE, MODEL, SEARCH = PAGES.values()


@pytest.fixture(scope="module")
def of() -> Demo:
    return read()


def test_the_numbers_are_those_of_the_plan() -> None:
    plan = make_plan(load("default"))
    one = next(size_class for size_class in plan.classes if size_class.size >= 100)
    for said in (
        f"It has {plan.class_count} *size classes*, from 16 bytes to {plan.small_limit >> 10} KiB",
        f"here {one.size} bytes",
        f"each size up to {plan.direct_limit:,}",
        f"brings blocks of the class: {one.front.refill} of {one.size} bytes",
        f"A slab is {plan.slab_bytes >> 10} KiB of one class: {one.blocks} blocks of {one.size} bytes",
        f"a *superslab* of {plan.superslab_bytes >> 20} MiB",
        f"A bar of {plan.superslab_bytes // plan.slab_bytes} slabs",
        f"full, at {one.front.capacity} blocks here, gives its {one.front.flush} oldest",
        f"A request above {plan.small_limit >> 10} KiB gets a *run*",
        f"Above {plan.huge_bytes >> 20} MiB a block has a mapping of its own",
    ):
        assert said in PAGE


def test_the_numbers_are_those_of_the_recording(of: Demo) -> None:
    said = (
        f"Of {of.requests:,} requests {of.requests - of.refills:,} end in the thread's stack. {of.refills:,} refill it"
    )
    assert f"{said}, {of.slabs} of these take a new slab, and {of.superslabs} times" in PAGE
    assert of.design == make_plan(load("default")).hash
    lost = {name: size for name, size in drawings.purposes(of).items() if not name.startswith("asked")}
    assert max(lost, key=lambda name: lost[name]) == "slabs that are not full"
    assert sum(drawings.purposes(of).values()) == sum(of.bytes.values())


def test_the_numbers_of_the_model_are_those_of_the_proof_and_the_replays(of: Demo) -> None:
    assert f"All {of.proof.addresses:,} addresses and {of.proof.counters} counters were compared" in MODEL
    assert of.proof.differences == 0
    assert all(one.model == one.library for one in of.proof.shown)
    misses = [100 * (1 - one.predicted / one.measured) for one in of.replayed]
    assert len(misses) == 8
    between = " to ".join(dict.fromkeys(f"{miss:.1f}" for miss in (min(misses), max(misses))))
    assert f"These predictions are {between} % too low" in MODEL


def test_the_numbers_of_the_search_are_those_of_the_search(of: Demo) -> None:
    found = of.search
    time, peak = found.priced[min(found.front, key=lambda number: found.priced[number][0])][:2]
    its_time, its_peak = found.priced[found.chosen][:2]
    first, second = found.without
    for said in (
        f"looked at {found.looks:,} designs and priced {len(found.priced)}",
        f"takes {time:.2f} of the base's time and {peak:.2f} of its peak",
        f"takes {its_time:.2f} of the time and {its_peak:.2f} of the peak",
        f"The chosen design has {found.scores[found.chosen]:.3f} and not the best score",
    ):
        assert said.replace(" 0.", " .") in SEARCH
    assert f"The second costs {100 * (1 - second.ratios['time']):.1f} % of time and saves memory" in SEARCH
    assert min(found.scores) < found.scores[found.chosen]
    assert 1 - min(found.scores[:10]) > (1 - min(found.scores)) / 2
    assert found.weights["time"] < 0.5
    assert first.ratios["time"] > 1
    assert all(second.ratios[name] > 1 for name in ("peak", "average", "end"))
    for curve in of.curves:
        assert curve.misses[7] - curve.misses[-1] < curve.requests / 50


def test_the_code_is_that_of_the_library() -> None:
    emitted = (drawings.FOLDER.parents[1] / "generated" / "default" / "fast.c").read_text()
    (shown,) = re.findall(r"```c\n(.*?)```", (drawings.FOLDER / "generated-malloc.md").read_text(), re.DOTALL)
    for line in shown.splitlines():
        assert line.strip() in emitted


def test_the_pictures_are_those_of_the_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawings.main(check=True) == 0
    monkeypatch.setattr(drawings, "FOLDER", tmp_path)
    with pytest.raises(CheckFailed, match=r"classes\.svg: differs"):
        drawings.main(check=True)
    assert drawings.main(check=False) == 0
    assert drawings.main(check=True) == 0


def test_each_picture_is_on_one_page_and_says_what_it_shows() -> None:
    shown = [
        name for page in PAGES.values() for name in re.findall(r"!\[[^]]{20,}\]\((?:explain/)?([\w-]+)\.svg\)", page)
    ]
    assert sorted(shown) == sorted(drawings.PICTURES)
    assert sorted(path.stem for path in drawings.FOLDER.glob("*.svg")) == sorted(drawings.PICTURES)


class Marks(HTMLParser):
    """The texts of a picture with their places, and all marks that lie outside of it."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[tuple[float, float, str, str]] = []
        self.size = (0.0, 0.0)
        self._at: tuple[float, float, str] | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        of = {name: value or "" for name, value in attrs}
        if tag == "svg":
            self.size = (float(of["width"]), float(of["height"]))
        self._at = (float(of["x"]), float(of["y"]), of["text-anchor"]) if tag == "text" else None

    def handle_data(self, data: str) -> None:
        if self._at:
            self.texts.append((*self._at, data))
        self._at = None


@pytest.mark.parametrize("name", drawings.PICTURES)
def test_no_text_is_cut_off(name: str) -> None:
    """Each letter taken as .58 of the font's height, which is more than common fonts take on average."""
    marks = Marks()
    marks.feed((drawings.FOLDER / f"{name}.svg").read_text())
    assert marks.texts
    for x, y, anchor, said in marks.texts:
        width = len(said) * svg.FONT * 0.58
        left = {"start": x, "middle": x - width / 2, "end": x - width}[anchor]
        assert left >= -2, said
        assert left + width <= marks.size[0] + 2, said
        assert svg.FONT * 0.7 <= y <= marks.size[1] - 3, said
