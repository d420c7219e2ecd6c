"""Which blocks of a library lie where it asks the system for huge pages, held against docs/machine-rooms.md, 'thp'."""

from pathlib import Path

from preloaded import program, start

from heapsmith.model.constants import HUGE_PAGE
from heapsmith.model.design.plan import Plan

RUNS = 1 << 60
"""Where the places of runs begin; those of huge blocks lie behind (docs/machine.md, 'address space')."""

SMALL_BYTES, RUN_BYTES, HUGE_BLOCKS = 5 << 20, 5 << 20, 2
"""What is allocated: more than two huge pages of small blocks and of runs."""


def wrong_advice(library: Path, plan: Plan) -> str | None:
    """The first block of a checked library for which other pages are asked than the page says; None without any."""
    small, run = plan.small_limit, min(max(100_000, plan.small_limit + 1), plan.huge_bytes)
    blocks = [SMALL_BYTES // small, small, RUN_BYTES // run, run, HUGE_BLOCKS, plan.huge_bytes + 1]
    done = start([program("run_advice", "-rdynamic"), *blocks], library)
    if done.returncode != 0:
        return f"advice: status {done.returncode}, {done.stderr!r}"
    said = [line.split() for line in done.stdout.splitlines()]
    for size, place, *asked in said:
        wanted = [pages_at(plan, int(place), byte) for byte in (0, int(size) - 1)]
        if asked != wanted:
            return f"advice: {asked} for {size} bytes at {int(place):#x}, expected {wanted}"
    return None if len(said) == sum(blocks[::2]) else f"advice: {len(said)} blocks"


def pages_at(plan: Plan, place: int, byte: int) -> str:
    """What has to be asked for at a byte of the block there: h (huge pages), n (no huge pages) or - (neither)."""
    thp = plan.design.thp
    if thp in ("system", "never"):
        return "n" if thp == "never" else "-"
    if place >= RUNS:  # or a mapping: the program writes nothing, so there is no evidence
        return "h" if plan.numbers.get("thp_runs_from_bytes", 0) == 0 else "-"
    offset = place % plan.region_bytes
    if plan.small_limit > plan.numbers.get("thp_block_bytes", HUGE_PAGE):  # the class of all small blocks here
        return "-"
    small_bytes = plan.numbers.get("thp_slabs_from_bytes", 0)
    return "h" if offset // plan.superslab_bytes * plan.superslab_bytes >= small_bytes else "-"
