"""Numbers that pages of the manual state are those of the code, and another number would be noticed."""

import re
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import heapsmith
from heapsmith.commands.man import commands
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.predict import history, pins_at_moments
from heapsmith.model.search import choice, choice_worth, confirm, draft, exact, outcome_store, tune, unseen
from heapsmith.model.trace import events, stacks
from heapsmith.model.trace.exports import perfetto
from heapsmith.tools.ci import pytest_limits
from heapsmith.tools.common import other_memory, resident_series, smaps
from heapsmith.tools.compare import measure
from heapsmith.tools.forge import forge
from heapsmith.tools.knobs import jemalloc, knob, tcmalloc_classes
from heapsmith.tools.page import paths
from heapsmith.tools.sampled import core, snapshot, switch
from heapsmith.tools.sites import advice, leaks
from heapsmith.tools.top import blocks

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
MIB = 1 << 20
DEFAULT, STEADY, HARDENED = (make_plan(load(name)) for name in ("default", "steady", "hardened"))
OF_112 = next(row for row in DEFAULT.classes if row.usable == 112)
RULES = (ROOT / "ci" / "prometheus" / "rules.yml").read_text()
ALERTS = {
    name: (expression, duration)
    for name, expression, duration in re.findall(r"- alert: (\w+)\n +expr: (.+)\n +for: (\w+)\n", RULES)
}


class Stated(NamedTuple):
    """A page, what it says, with {} for numbers, and these numbers."""

    page: str
    text: str
    numbers: tuple[Any, ...]


def percent(part: float) -> str:
    return f"{100 * part:g}"


STATED = [
    Stated("report.md", "The time line has at most {} points", (history.PIXELS,)),
    Stated("report.md", "are of at most {} moments", (history.STOPS,)),
    Stated("report.md", "The map has at most {} rows", (history.COLUMNS,)),
    Stated("report.md", "At most {:,} call paths stay", (paths.MOST_PATHS,)),
    Stated("report.md", "of {} moments from the peak to the end", (pins_at_moments.STOPS,)),
    Stated(
        "report.md",
        "the {} rows that pin most in vain under each design: {} % of its committed bytes and {} KiB or more",
        (advice.MOST_PINS, percent(advice.LEAST_SHARE), advice.LEAST_BYTES >> 10),
    ),
    Stated(
        "report.md",
        "up to {} rows with {} % or more of the live bytes",
        (advice.MOST_BURSTS, percent(advice.BURST_SHARE)),
    ),
    Stated("report.md", "the first {} rows of `leaks` that grow", (advice.MOST_LEAKS,)),
    Stated(
        "report.md",
        "{} % or more of them lie in each of {} or more tenths",
        (percent(leaks.LEAST_IN_PART), leaks.GROWING_PARTS),
    ),
    Stated("report.md", "{} % or more were born in the first tenth", (percent(leaks.EARLY),)),
    Stated(
        "tuning.md",
        "{:g} seconds for a trace of a million events, with the root of their number, at least {:g}, at most {:g}",
        (tune.SECONDS, tune.LEAST_SECONDS, tune.MOST_SECONDS),
    ),
    Stated("tuning.md", "half of the search's time more, at least {:g} s", (tune.LEAST_REPLAY_SECONDS,)),
    Stated("tuning.md", "the outcomes for the {} latest traces", (outcome_store.MOST_FILES,)),
    Stated("tuning.md", "**The halves of each trace** of {:,} operations", (2 * unseen.LEAST_OPERATIONS,)),
    Stated("tuning.md", "time, peak and average may be {} of the base's", (unseen.PART_SLACK,)),
    Stated("tuning.md", "one block of each of {} sizes", (len(unseen.START_SIZES),)),
    Stated("tuning.md", "may have {} times the base's peak", (unseen.START_RATIO,)),
    Stated("tuning.md", "cost the score no more than {} %", (percent(choice_worth.MARGIN),)),
    Stated("tuning.md", "the best of the front, up to {}, beside the base", (confirm.FINALISTS - 1,)),
    Stated(
        "tuning.md",
        "For each slab size ({} to {} KiB and that of the base) and small limit (that of the base, {:,} and {:,} b",
        (draft.SLAB_BYTES[0] >> 10, draft.SLAB_BYTES[-1] >> 10, draft.SMALL_LIMITS[1], draft.SMALL_LIMITS[0]),
    ),
    Stated("tuning.md", "{} % by all allocations", (percent(draft.ALLOCATION_SHARE),)),
    Stated("tuning.md", "Budgets of `--max-overhead` ({}) of the peak live bytes", (exact.BUDGETS[0],)),
    Stated(
        "tuning.md",
        "The choice may take up to {} % more time where this is at most {} % of the run",
        (percent(choice.TIME_SLACK - 1), percent(choice.RUN_SLACK)),
    ),
    *(
        Stated("tuning.md", "| `{}` | {} | {} | {} | {} |", (name, *(f"{part:.2f}"[1:] for part in weights)))
        for name, weights in choice.WEIGHTS.items()
    ),
    Stated("compare.md", "{} of what they leave is for these runs, {} for replays, {} for the share", (
        *(f"{part:g}"[1:] for part in (forge.RUNS, forge.REPLAYS, forge.SHARE)),
    )),
    Stated("compare.md", "The recorded run ends after {} hour", ({3600.0: "an"}.get(forge.RECORD_S, "another"),)),
    Stated(
        "compare.md",
        "any other run and replay after {:g} times its time ({:g} s at least)",
        (measure.TIMES_FIRST, measure.LEAST_LIMIT_S),
    ),
    Stated(
        "compare.md",
        "at least {} % of the time in the allocator ({:g} ns per call), {} % of the time of the trace, and {:g} ms",
        (percent(knob.MATERIAL), knob.OPERATION_NS, percent(knob.PROGRAM), knob.LEAST_NS / 1e6),
    ),
    Stated(
        "compare.md",
        "It may keep {} % of the peak live bytes or {} KiB more than the default; with `--favour time` {} %",
        (percent(knob.MOST_IDLE["balanced"]), knob.LEAST_IDLE >> 10, percent(knob.MOST_IDLE["time"])),
    ),
    Stated("compare.md", "A miss of a tcache costs {:g} ns more than a hit", (knob.MISS_NS,)),
    Stated("compare.md", "is taken to cost {:g} ns more in the arena", (jemalloc.LARGE_MISS_NS,)),
    Stated("compare.md", "blocks of {} MiB or more, whose pages jemalloc releases", (jemalloc.OVERSIZE // MIB,)),
    Stated("compare.md", "it finds the {} classes that waste least", (tcmalloc_classes.MOST_CLASSES,)),
    Stated("compare.md", "that is full ({} blocks) flushes {}", (
        STEADY.classes[0].front.capacity,
        STEADY.classes[0].front.flush,
    )),
    Stated("other-tools.md", "at most {:,} slices", (perfetto.SLICES,)),
    Stated("other-tools.md", "the stack that the tool recorded, at most {} frames", (stacks.MAX_DEPTH,)),
    Stated("trace.md", "at most `chunk_events` ({:,} unless", (events.CHUNK_EVENTS,)),
    Stated("trace.md", "at most {:g} % of a processor's time and {:g} ms at the start", (
        100 * resident_series.SHARE,
        1000 * resident_series.FREE_S,
    )),
    Stated("trace.md", "about {} microseconds per mapping", (round(1e6 * resident_series.MAPPING_S),)),
    Stated("trace.md", "more than {:,} mappings", (resident_series.FEW_MAPPINGS,)),
    Stated("trace.md", "At most {} are kept", (resident_series.MOST_LOOKS,)),
    Stated("trace.md", "asks of at most {} GiB of mappings", (smaps.MOST_PAGES * smaps.PAGE >> 30,)),
    Stated("recipes.md", "{} MiB more than twice the library's", (other_memory.OTHER_BYTES // MIB,)),
    Stated("ci.md", "leaves more than {} bytes in the second and in the third run", (pytest_limits.SMALL,)),
    Stated("live.md", "one block each {} KiB of requests on average", (load("sampled").sampling.mean_bytes >> 10,)),
    Stated("live.md", "call stacks of at most {} frames", (snapshot.FRAMES,)),
    Stated("live.md", "the mean is that of the process, or {} KiB", (switch.USUAL_MEAN >> 10,)),
    Stated("hardening.md", "at most {:,} superslabs, of {} MiB", (
        HARDENED.slab_span_bytes // HARDENED.superslab_bytes,
        HARDENED.superslab_bytes // MIB,
    )),
    Stated("hardening.md", "block of more than {} MiB a mapping of its own, `hardened` each of more than {} KiB", (
        load("checks").huge_bytes // MIB,
        HARDENED.huge_bytes >> 10,
    )),
    Stated("explain/generated-malloc.md", "It has {} *size classes*, from {} bytes to {} KiB", (
        len(DEFAULT.classes),
        DEFAULT.classes[0].usable,
        DEFAULT.small_limit >> 10,
    )),
    Stated("explain/generated-malloc.md", "blocks of the class: {} of 112 bytes", (OF_112.front.refill,)),
    Stated("explain/generated-malloc.md", "A slab is {} KiB of one class: {} blocks of 112 bytes", (
        DEFAULT.slab_bytes >> 10,
        OF_112.blocks,
    )),
    Stated("explain/generated-malloc.md", "full, at {} blocks here, gives its {} oldest", (
        OF_112.front.capacity,
        OF_112.front.flush,
    )),
    Stated("explain/generated-malloc.md", "Above {} MiB a block has a mapping", (DEFAULT.huge_bytes // MIB,)),
    Stated("python.md", "`import heapsmith` gives {} names", ({10: "ten"}.get(len(heapsmith.__all__), "other"),)),
]  # fmt: skip


def is_said(one: Stated) -> bool:
    return one.text.format(*one.numbers) in " ".join((DOCS / one.page).read_text().split())


def another(number: Any) -> Any:
    return number + 1 if isinstance(number, (int, float)) else f"{number}9"


@pytest.mark.parametrize("one", STATED, ids=lambda one: f"{one.page}: {one.text[:40]}")
def test_the_number_is_that_of_the_code(one: Stated) -> None:
    assert is_said(one), one.text.format(*one.numbers)
    for at, number in enumerate(one.numbers):
        changed = (*one.numbers[:at], another(number), *one.numbers[at + 1 :])
        assert not is_said(one._replace(numbers=changed)), f"another number than {number} is said too"


def test_alerts_are_described_as_they_are() -> None:
    """Each alert has a row, with its least bytes, rates and hours in words."""
    page = " ".join((DOCS / "live.md").read_text().split())
    rows = dict(re.findall(r"\| `(Heap\w+)` \| ([^|]+) \|", page))
    assert rows.keys() == ALERTS.keys()
    said = {"3h": "for 3 hours", "1h": "for an hour", "30m": "for half an hour"}
    for name, (expression, duration) in ALERTS.items():
        assert rows[name].startswith(said[duration]), name
        for number in re.findall(r"> (\d+)(?: \* 1024 \* 1024)?$|> (\d+) \*", expression):
            assert f"{int(number[0] or number[1]):,}" in rows[name], (name, number)


def test_limits_of_check_and_guard_are_the_defaults() -> None:
    page = " ".join((DOCS / "ci.md").read_text().split())
    _, inner = commands()
    default = {
        (names[-1], parameter.opts[0]): parameter.default
        for names, (command, _) in inner.items()
        for parameter in command.params
    }
    assert f"The program runs `--runs` times ({default['check', '--runs']})" in page
    for option in ("--max-waste-rise", "--max-slow-rise", "--max-size-shift", "--max-lifetime-shift"):
        assert f"`{option} {default['guard', option]}`" in page
    assert f"`--tolerance` ({default['check', '--tolerance'].replace('%', ' %')})" in page


def test_what_an_address_can_be_is_explained() -> None:
    """Each kind of place in a core file has its words on the page."""
    page = (DOCS / "live.md").read_text().partition("| what is at an address |")[2].partition("\n\n")[0]
    kinds = {value for name, value in vars(blocks).items() if name.isupper() and isinstance(value, str)}
    assert len(kinds) > 10
    for kind in kinds - {blocks.OUTSIDE} | {core.NO_MEMORY, core.OTHER}:
        assert kind in page, kind


def test_designs_with_counted_hot_paths_are_named() -> None:
    counted = tomllib.loads((ROOT / "bench" / "gates" / "hot_paths.toml").read_text())
    page = " ".join((DOCS / "lab" / "bench.md").read_text().split())
    said = re.search(r"`bench/gates/hot_paths.toml` holds, for ([^.]+), the exact instructions", page)
    assert said
    assert set(re.findall(r"`([^`]+)`", said[1])) == {name for name, of in counted.items() if isinstance(of, dict)}
