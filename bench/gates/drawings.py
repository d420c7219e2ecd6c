"""Draws the pictures of docs/explain from demo.json there, and from the plan of `default`.

python -m heapsmith.bench.gates.drawings [--check] (make generated, make check)
"""

import math
from collections.abc import Callable
from itertools import accumulate, pairwise
from typing import Annotated

import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.svg import (
    BLUE,
    FAINT,
    GREEN,
    GREY,
    INK,
    ORANGE,
    RULE,
    WIDTH,
    Frame,
    box,
    dot,
    line,
    picture,
    text,
)
from heapsmith.bench.studies.explained import FILE, Demo, read
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text

FOLDER = FILE.parent
BAR, GAP = 30, 12
MIB = 1 << 20
COLOURS = (BLUE, ORANGE, GREEN)


def classes(plan: Plan) -> str:
    """Stairs: the size of the block for each request up to LAST bytes, and what of it is not asked for."""
    last = 512
    frame = Frame(48, 40, WIDTH - 16, 250, (0, last), (0, last))
    sizes = [row.size for row in plan.classes if row.size <= last]
    corners = [(0.0, float(sizes[0])), *((float(a), float(b)) for size, more in pairwise(sizes) for a, b in
               ((size, size), (size, more))), (float(last), float(sizes[-1]))]  # fmt: skip
    ticks = {float(value): f"{value}" for value in (0, 128, 256, 384, 512)}
    marks = frame.axes(ticks, ticks, ("bytes of the request", "bytes of the block"))
    marks.append(line([(frame.x(0), frame.y(0)), (frame.x(last), frame.y(last))], GREY, 1))
    marks.append(line([(frame.x(a), frame.y(b)) for a, b in corners]))
    asked, block = 100, next(size for size in sizes if size >= 100)
    marks.append(dot(frame.x(asked), frame.y(block), 5, ORANGE))
    marks.append(text(frame.x(asked) + 10, frame.y(block) + 16, f"{asked} bytes get a block of {block}", fill=ORANGE))
    return picture("The block that a request gets, by its size", 300, marks)


def layout(plan: Plan) -> str:
    """A superslab, one of its slabs, and the first blocks of that slab, each as a magnified part of the one above."""
    one = next(row for row in plan.classes if row.size >= 100)
    slabs, shown = plan.superslab_bytes // plan.slab_bytes, 8
    rows = (
        (f"a superslab: {plan.superslab_bytes >> 20} MiB of addresses", slabs, f"{slabs} slabs"),
        (f"a slab: {plan.slab_bytes >> 10} KiB of one class", 64, f"{one.blocks} blocks of {one.size} bytes"),
        ("its first blocks", shown, f"{one.size} bytes each"),
    )
    left, width, marks, top = 12.0, WIDTH - 24.0, list[str](), 12.0
    for number, (said, parts, whole) in enumerate(rows):
        marks += [text(left, top + 14, said), text(left + width, top + 14, whole, at="end", fill=FAINT)]
        each = width / parts
        for part in range(parts):
            fill = ORANGE if part == 0 and number < len(rows) - 1 else BLUE
            marks.append(box(left + part * each, top + 22, each - 1, BAR, fill))
        top += 22 + BAR
        if number < len(rows) - 1:
            marks.append(line([(left, top), (left, top + 24)], GREY, 1))
            marks.append(line([(left + each, top), (left + width, top + 24)], GREY, 1))
            top += 24
    top += 12
    return picture("A superslab has slabs, and a slab has blocks of one size", top, marks)


def funnel(of: Demo) -> str:
    """A bar for each layer, whose length is the logarithm of its calls."""
    layers = (
        (of.requests, "the thread's stack"),
        (of.refills, "refill from a slab"),
        (of.slabs, "a new slab"),
        (of.superslabs, "the system"),
    )
    marks, left, most = list[str](), 148, math.log10(of.requests)
    for number, (calls, label) in enumerate(layers):
        top, width = GAP + number * (BAR + GAP), (WIDTH - left - 80) * math.log10(calls) / most
        marks += [
            text(left - 8, top + BAR / 2 + 5, label, at="end"),
            box(left, top, width, BAR, BLUE),
            text(left + width + 8, top + BAR / 2 + 5, f"{calls:,}"),
        ]
    return picture(
        "How many calls of malloc reach each layer, on a logarithmic scale", len(layers) * (BAR + GAP) + GAP, marks
    )


PURPOSES = {
    "asked for by the program": ("asked",),
    "rounding to a class": ("rounding", "run_rounding", "huge_rounding", "header_and_canary"),
    "slabs that are not full": ("freed_blocks", "fresh_blocks", "slab_ends"),
    "stacks and caches": ("fronts", "transfer_cache", "remote_lists", "quarantines"),
    "empty slabs and free runs": ("empty_slabs", "slabs_ahead", "run_caches", "free_runs", "pages_ahead", "huge_cache"),
}


def purposes(of: Demo) -> dict[str, int]:
    """The committed bytes at their peak, by what they are for, in the words of the page."""
    return {name: sum(of.bytes.get(item, 0) for item in items) for name, items in PURPOSES.items()}


def at_peak(of: Demo) -> str:
    """A bar for each purpose."""
    found, left, marks = purposes(of), 198, list[str]()
    for number, (name, size) in enumerate(found.items()):
        top, width = GAP + number * (BAR + GAP), (WIDTH - left - 86) * size / max(found.values())
        marks += [
            text(left - 8, top + BAR / 2 + 5, name, at="end"),
            box(left, top, max(1, width), BAR, BLUE if number == 0 else ORANGE),
            text(left + width + 8, top + BAR / 2 + 5, f"{size / MIB:.2f} MiB"),
        ]
    return picture("What the bytes are for at the peak of the heap", len(found) * (BAR + GAP) + GAP, marks)


def proof(of: Demo) -> str:
    """Some mallocs of the trace, with the place of the block by the model and in the library."""
    columns = (("event", 70.0), ("request", 180.0), ("by the model", 310.0), ("in the library", 430.0))
    marks = [text(x, 26, name, at="end", fill=FAINT) for name, x in columns]
    marks.append(line([(12, 34), (WIDTH - 12, 34)], RULE, 1))
    for number, one in enumerate(of.proof.shown):
        y = 56.0 + 24 * number
        fill = GREEN if one.model == one.library else ORANGE
        words = (f"{one.event:,}", f"malloc({one.size})", f"{one.model:#x}", f"{one.library:#x}")
        marks += [
            text(x, y, word, at="end", fill=fill if column > 1 else INK)
            for column, (word, (_, x)) in enumerate(zip(words, columns, strict=True))
        ]
        marks.append(text(448, y, "=" if one.model == one.library else "≠", fill=fill))
    y = 62.0 + 24 * len(of.proof.shown)
    marks.append(line([(12, y - 14), (WIDTH - 12, y - 14)], RULE, 1))
    said = f"{of.proof.addresses:,} addresses and {of.proof.counters} counters compared: {of.proof.differences} differ"
    marks.append(text(12, y + 8, said))
    return picture("Where blocks lie: by the model, and in the library", y + 24, marks)


def predicted(of: Demo) -> str:
    """A point for each design: its measured peak across, the predicted one up; on the line both are equal."""
    most = max(max(one.predicted, one.measured) for one in of.replayed) / MIB
    last = math.ceil(most / 10) * 10
    least = math.floor(min(min(one.predicted, one.measured) for one in of.replayed) / MIB / 5) * 5
    frame = Frame(48, 40, WIDTH - 24, 280, (least, last), (least, last))
    step = 5 if last - least <= 40 else 20
    ticks = {float(value): f"{value}" for value in range(least, last + 1, step)}
    marks = frame.axes(ticks, ticks, ("measured peak, MiB", "predicted peak, MiB"))
    marks.append(line([(frame.x(least), frame.y(least)), (frame.x(last), frame.y(last))], GREY, 1))
    for one in of.replayed:
        marks.append(dot(frame.x(one.measured / MIB), frame.y(one.predicted / MIB), 4, BLUE))
    return picture("Predicted and measured peaks of designs on one trace", 330, marks)


def front(of: Demo) -> str:
    """A point for each priced design by time and peak; those of the front, the base and the choice are marked."""
    found, (most_time, most_peak) = of.search, SHOWN
    near = [number for number, one in enumerate(found.priced) if one[0] <= most_time and one[1] <= most_peak]
    low_time, low_peak = (math.floor(min(found.priced[number][axis] for number in near) * 20) / 20 for axis in (0, 1))
    frame = Frame(48, 40, WIDTH - 24, 300, (low_time, most_time), (low_peak, most_peak))
    across, up = steps(low_time, most_time, 0.1), steps(low_peak, most_peak, 0.05)
    marks = frame.axes(across, up, ("time, of the base's", "peak memory, of the base's"))
    kinds = {number: (2.5, GREY) for number in near}
    kinds |= {number: (3.5, BLUE) for number in found.front if number in near}
    kinds |= {0: (6.0, INK), found.chosen: (6.0, ORANGE)}
    for number, (radius, fill) in kinds.items():
        time, peak = found.priced[number][:2]
        marks.append(dot(frame.x(time), frame.y(peak), radius, fill))
    named = (("priced", GREY), ("front", BLUE), ("base", INK), ("chosen", ORANGE))
    for number, (name, fill) in enumerate(named):
        marks += [dot(60 + 105 * number, 362, 5, fill), text(70 + 105 * number, 367, name)]
    more = f"; {left_out} take more than is shown" if (left_out := len(found.priced) - len(near)) else ""
    marks.append(text(8, 392, f"{len(found.priced)} designs{more}", fill=FAINT))
    return picture("Time and peak of each design that a search priced", 404, marks)


SHOWN = (1.3, 1.15)
"""The largest ratios of time and peak in the picture of the front; designs with more are left out."""


def steps(low: float, high: float, step: float) -> dict[float, str]:
    """The multiples of a step between two values, and their words."""
    numbers = range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)
    return {number * step: f"{number * step:.{1 if step >= 0.1 else 2}f}" for number in numbers}


def progress(of: Demo) -> str:
    """The least score so far after each priced design."""
    best = list(accumulate(of.search.scores, min))
    low = math.floor(best[-1] * 100) / 100
    frame = Frame(48, 40, WIDTH - 24, 210, (0, len(best)), (low, 1.0))
    across = {float(number): f"{number}" for number in range(0, len(best) + 1, 20)}
    marks = frame.axes(across, steps(low, 1.0, 0.01), ("designs priced", "best score so far"))
    stairs = [(0.0, best[0]), *((float(number + side), value) for number, value in enumerate(best) for side in (0, 1))]
    marks.append(line([(frame.x(a), frame.y(b)) for a, b in stairs]))
    return picture("The best score after each priced design", 260, marks)


def capacities(of: Demo) -> str:
    """For some classes the share of requests that find the stack empty, by its capacity."""
    most = max(len(curve.misses) for curve in of.curves)
    top = max(curve.misses[0] / curve.requests for curve in of.curves)
    last = math.ceil(top * 10) / 10
    frame = Frame(48, 40, WIDTH - 24, 240, (0, math.log2(most)), (0, last))
    across = {float(power): f"{1 << power}" for power in range(0, int(math.log2(most)) + 1)}
    up = {step / 10: f"{step * 10} %" for step in range(0, round(last * 10) + 1, 2)}
    marks = frame.axes(across, up, ("blocks that the stack holds", "requests that find it empty"))
    for number, (curve, fill) in enumerate(zip(of.curves, COLOURS, strict=True)):
        points = [(math.log2(at), misses / curve.requests) for at, misses in enumerate(curve.misses, start=1)]
        marks.append(line([(frame.x(a), frame.y(b)) for a, b in points], fill))
        marks += [box(60 + 135 * number, 296, 14, 8, fill), text(80 + 135 * number, 304, f"{curve.block} bytes")]
    return picture("Misses of each capacity of a front, for three classes", 320, marks)


def worth(of: Demo) -> str:
    """For each choice the ratios without it, as bars of per cent."""
    rows, marks, top = of.search.without, list[str](), 8.0
    shares = [100 * (ratio - 1) for one in rows for ratio in one.ratios.values()]
    left, room = 90, WIDTH - 90 - 72
    most = max([*shares, 0.1])
    for one in rows:
        marks.append(text(12, top + 16, f"{' and '.join(one.fields)} as in the base:"))
        top += 26
        for name, ratio in one.ratios.items():
            more = 100 * (ratio - 1)
            width = max(1.0, room * max(0.0, more) / most)
            marks += [
                text(left - 8, top + 13, name, at="end", fill=FAINT),
                box(left, top, width, 16, ORANGE),
                text(left + width + 6, top + 13, f"{more:+.1f} %"),
            ]
            top += 20
        top += 10
    return picture("What each choice of the found design is worth", top, marks)


PICTURES: dict[str, Callable[[Demo], str]] = {
    "classes": lambda of: classes(make_plan(load("default"))),
    "layout": lambda of: layout(make_plan(load("default"))),
    "funnel": funnel,
    "at-peak": at_peak,
    "proof": proof,
    "predicted": predicted,
    "front": front,
    "capacities": capacities,
    "progress": progress,
    "worth": worth,
}
"""The pictures by the names of their files."""


def main(check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False) -> int:
    """Draw the pictures; with --check, fail where one is another."""
    of = read()
    for name, drawn in PICTURES.items():
        path = FOLDER / f"{name}.svg"
        made = drawn(of)
        if check and (not path.exists() or path.read_text() != made):
            raise CheckFailed(f"docs/explain/{name}.svg: differs from its data; expected a run of `make generated`")
        if not check:
            write_text(path, made)
    return 0


if __name__ == "__main__":
    exit_with(main)
