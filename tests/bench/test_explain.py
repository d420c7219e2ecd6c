"""docs/explain: the numbers of the page are those of the plan of `default`, of its C, and of the recording's counts."""

import re
from pathlib import Path

import pytest

from heapsmith.bench.gates import funnel
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import CheckFailed

PAGE = " ".join((funnel.FOLDER / "generated-malloc.md").read_text().split())


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
        f"full, at {one.front.capacity} blocks here, gives its {one.front.flush} oldest",
        f"A request above {plan.small_limit >> 10} KiB gets a *run*",
        f"Above {plan.huge_bytes >> 20} MiB a block has a mapping of its own",
    ):
        assert said in PAGE


def test_the_numbers_are_those_of_the_recording() -> None:
    of = funnel.counts()
    said = (
        f"Of {of.requests:,} requests {of.requests - of.refills:,} end in the thread's stack. {of.refills:,} refill it"
    )
    assert f"{said}, {of.slabs} of these take a new slab, and {of.superslabs} times" in PAGE
    assert of.design == make_plan(load("default")).hash


def test_the_code_is_that_of_the_library() -> None:
    emitted = (funnel.FOLDER.parents[1] / "generated" / "default" / "fast.c").read_text()
    (shown,) = re.findall(r"```c\n(.*?)```", (funnel.FOLDER / "generated-malloc.md").read_text(), re.DOTALL)
    for line in shown.splitlines():
        assert line.strip() in emitted


def test_the_picture_is_that_of_the_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert funnel.main(check=True) == 0
    monkeypatch.setattr(funnel, "PICTURE", tmp_path / "funnel.svg")
    with pytest.raises(CheckFailed, match=r"funnel\.svg: differs"):
        funnel.main(check=True)
