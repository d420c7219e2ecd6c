"""Common to the rows that take samples: a thread counts down the bytes that it asks for, and draws the next count."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from heapsmith.model.compile.kernel import Ints, hit_path, kernel
from heapsmith.model.constants import PAGE
from heapsmith.model.errors import Refusal
from heapsmith.model.memory import layout
from heapsmith.model.memory.layout import GUARDED_CODE, HUGE_CODE, NO_BLOCK, NO_ROOM, RUN_CODE, page_at
from heapsmith.model.memory.state import State
from heapsmith.model.memory.touches import gone, touch
from heapsmith.model.parts.committed import uncommit
from heapsmith.model.parts.large import commit_huge, huge_at, huge_pages, large_block
from heapsmith.model.policy import front
from heapsmith.model.trace.events import Op

NUMBERS = (
    *("sample_mean", "sample_seed", "sample_on", "sample_watched", "sample_look_bytes", "sample_most_bytes"),
    *("sample_guards", "sample_guard_bytes"),
)
STATE = {
    "scalars": {
        **{"sampler": 0, "sample_new": 0, "sampling_threads": 0},
        **{"guards_begun": 0, "guards_freed": 0, "guards_reused": 0},
    }
}
"""Where `samplers` has what the thread of the event draws by; 1: the block that was just made is a sample; threads
that drew; slots of guarded samples that had a block, how often one was freed, and how often a freed one was taken.
"""
TAKEN, GUARDED = 5_600.0, 8_100.0
"""Instructions of a sample besides its run, and of a guarded one beside that: of its slot, with what is written around
the block, and of its free, with the walk of the stack.

By callgrind, medians of programs: bench/studies/sampling_cost.py and bench/studies/guarded.py.
"""
LINK = ("-static-libgcc", "-Wl,--exclude-libs,ALL", "-Wl,--eh-frame-hdr")
"""Stacks are unwound by a libgcc of the library's own: the shared one locks where programs register frames."""
LOOK_BYTES = 1 << 20
"""What a thread asks for before it looks again whether samples are taken, where none were."""
MOST_BYTES, MOST_SEED = 1 << 36, (1 << 32) - 1
MOST_GUARDS = 1 << 12
GUARD_BYTES = 1 << 22
"""The longest block that is guarded."""
UNTIL, LOW, HIGH, SEEDED, DRAWS, WORDS = range(6)
"""Of each thread: bytes of requests before its next sample, its generator, whether both are there yet."""
DRAWN_BITS, LOG_BITS, ONE_BITS, LN2_BITS, LN2 = 26, 20, 30, 24, 11_629_080
"""Bits of a draw; fraction bits of its logarithm, of the number under that, and of ln 2; then ln 2 itself, rounded."""
WORD_MASK = (1 << 32) - 1
THREAD_EXIT = int(Op.THREAD_EXIT)
UNRECORDED = {"record": "no_record", "family": "unrecorded"}
"""The headers of a library that cannot be recorded while it runs."""


def why_not_valid(params: Any) -> str | None:
    """Return why no samples can be drawn by these numbers, or None."""
    if not 1 <= params.mean_bytes <= MOST_BYTES:
        return f"mean_bytes: {params.mean_bytes}; expected 1 to {MOST_BYTES}"
    if not 0 <= params.seed <= MOST_SEED:
        return f"seed: {params.seed}; expected 0 to {MOST_SEED}"
    if not 0 <= params.guards <= MOST_GUARDS:
        return f"guards: {params.guards}; expected 0 to {MOST_GUARDS}"
    return None


def why_not_with(design: Any) -> Refusal | None:
    """Return why a design cannot take samples, or None."""
    name = design.row("sampling").NAME
    if design.bounded:
        words = f"sampling: '{name}' cannot go with bounded = true: a sample is a run of pages, which has no bound"
        return Refusal(words, ("sampling", "bounded"))
    if getattr(design.row("prewarm"), "CALLS_MALLOC", False):
        words = (
            f"sampling: '{name}' cannot go with prewarm '{design.row('prewarm').NAME}', "
            "whose requests are not the program's"
        )
        return Refusal(words, ("sampling", "prewarm"))
    if front.is_guarded(design):
        words = f"sampling: '{name}' cannot go with fronts whose blocks were all taken before"
        return Refusal(words, ("sampling", "front"))
    for field in ("foreign", "classifier"):
        if design.sampling.guards > 0 and getattr(design.row(field), "BY_PAGE", False):
            words = (
                f"sampling: guards cannot go with {field} '{design.row(field).NAME}', which takes each block that "
                "begins no page for a small one"
            )
            return Refusal(words, ("sampling", field))
    return None


def numbers(design: Any, *, is_on: bool) -> dict[str, int]:
    """Return what the draws go by, whether any are made, and when a thread looks again where none are."""
    return {
        "sample_mean": design.sampling.mean_bytes,
        "sample_seed": design.sampling.seed,
        "sample_on": int(is_on),
        "sample_watched": int(design.row("sampling").WATCHES),
        "sample_look_bytes": LOOK_BYTES,
        "sample_most_bytes": MOST_BYTES,
        "sample_guards": design.sampling.guards,
        "sample_guard_bytes": GUARD_BYTES,
    }


def files(design: Any, parked: str) -> dict[str, str]:
    """Return the headers of a row by what they are for; `parked`: that of stacks."""
    guards = "guarded" if design.sampling.guards > 0 else "unguarded"
    return {"parked": parked, "api": "profile", "guards": guards, **UNRECORDED}


def locks(design: Any) -> int:
    """Return how many locks the tables of samples and of guarded ones have."""
    return 1 + int(design.sampling.guards > 0)


def costs(name: str) -> dict[str, float]:
    """Return what a sample of the row costs, and a guarded one beside that."""
    return {f"sampling.taken.{name}": TAKEN, f"sampling.guarded.{name}": GUARDED}


def work_of_samples(plan: Any, simulation: Any, name: str) -> Iterator[tuple[str, int]]:
    """Yield the samples, and the guarded ones: nearly all, where a design has guards."""
    samples = simulation.counters.totals["sampled"]
    yield f"sampling.taken.{name}", samples
    yield f"sampling.guarded.{name}", samples * int(plan.design.sampling.guards > 0)


def requests(simulation: Any) -> int:
    """Return how many requests were served."""
    of, totals = simulation.counters.classes, simulation.counters.totals
    large = sum(totals[name] for name in ("run_hit", "run_reuse", "run_grow", "huge_map", "huge_reuse"))
    return int(sum(of["hit0"]) + sum(of["hit1"]) + sum(of["refill"]) + large)


def follow(simulator: Any, chunk: Any) -> None:
    """Give the simulator room for the threads and blocks of a chunk."""
    state = simulator.state
    if len(chunk.op):
        state.samplers = _with_room(state.samplers, WORDS * (1 + int(chunk.thread.max())))
        state.samples_of = _with_room(state.samples_of, 1 + int(chunk.block.max()))
        state.guards = _with_room(state.guards, max(1, state.sample_guards))


def _with_room(ints: Ints, length: int) -> Ints:
    """Return the numbers with zeros behind them up to this length at least."""
    if length <= len(ints):
        return ints
    longer = np.zeros(2 * length, np.int64)
    longer[: len(ints)] = ints
    return longer


@kernel
def event_begins(state: State, event: int) -> None:
    """Note the thread of the event. One that exits is a new thread if it comes again."""
    state.sampler = WORDS * int(np.int64(state.thread[event]))
    if int(np.int64(state.op[event])) == THREAD_EXIT:
        for word in range(WORDS):
            state.samplers[state.sampler + word] = 0


@kernel
def mixed(x: int) -> int:
    """Return a number of 32 bits of which about half change with each bit of x: MurmurHash3's last steps."""
    x = ((x ^ x >> 16) * 0x85EBCA6B) & WORD_MASK
    x = ((x ^ x >> 13) * 0xC2B2AE35) & WORD_MASK
    return x ^ x >> 16


@kernel
def turned(x: int, by: int) -> int:
    """Return the 32 bits of x, turned to the left."""
    return (x << by | x >> (32 - by)) & WORD_MASK


@kernel
def seed_thread(state: State, at: int) -> None:
    """Give a thread its generator, by the seed and the thread's place among those that drew."""
    ordinal = state.sampling_threads
    state.sampling_threads = ordinal + 1
    low = mixed(state.sample_seed ^ mixed(2 * ordinal + 1))
    state.samplers[at + LOW] = low
    state.samplers[at + HIGH] = mixed((low + 2 * ordinal + 2) & WORD_MASK) | 1
    state.samplers[at + SEEDED] = 1


@kernel
def drawn(state: State, at: int) -> int:
    """Return a number from 1 to 2^DRAWN_BITS, each as likely: xoroshiro64** of D. Blackman and S. Vigna."""
    low, high = int(state.samplers[at + LOW]), int(state.samplers[at + HIGH])
    result = (turned((low * 0x9E3779BB) & WORD_MASK, 5) * 5) & WORD_MASK
    high ^= low
    state.samplers[at + LOW] = turned(low, 26) ^ high ^ ((high << 9) & WORD_MASK)
    state.samplers[at + HIGH] = turned(high, 13)
    return (result >> (32 - DRAWN_BITS)) + 1


@kernel
def log_of(number: int) -> int:
    """Return the binary logarithm of a number, rounded down to LOG_BITS bits behind the point."""
    whole = 0
    while number >> (whole + 1) > 0:
        whole += 1
    log, x = whole, number << (ONE_BITS - whole)
    for _ in range(LOG_BITS):
        x = x * x >> ONE_BITS
        above = x >> (ONE_BITS + 1)
        x >>= above
        log = log << 1 | above
    return log


@kernel
def interval_of(number: int, mean: int) -> int:
    """Return -mean * ln(number / 2^DRAWN_BITS), rounded down."""
    bits = (DRAWN_BITS << LOG_BITS) - log_of(number)
    return (bits * LN2 >> LN2_BITS) * mean >> LOG_BITS


@kernel
def is_sample(state: State, at: int, size: int) -> bool:
    """Count a request that is due; return whether it is a sample."""
    if state.samplers[at + SEEDED] == 0:
        seed_thread(state, at)
    if state.samplers[at + DRAWS] == 0:
        state.samplers[at + DRAWS] = 1
        until = interval_of(drawn(state, at), state.sample_mean)
        state.samplers[at + UNTIL] = until
        if size <= until:
            state.samplers[at + UNTIL] = until - size
            return False
    state.samplers[at + UNTIL] = interval_of(drawn(state, at), state.sample_mean)
    return True


@kernel
def takes(state: State, size: int) -> bool:
    """Count a request; return whether it is a sample."""
    if state.sample_on == 0:
        return False
    at = state.sampler
    until = int(state.samplers[at + UNTIL])
    if size > until:
        return is_sample(state, at, size)
    state.samplers[at + UNTIL] = until - size
    return False


@kernel
def count(state: State, size: int) -> None:
    """Count the sample whose block was just made. The first one maps the tables of samples."""
    state.memory_calls += int(state.sampled == 0)
    touch(state.listener, layout.TOTAL_SAMPLED, 1)
    touch(state.listener, layout.TOTAL_SAMPLED_BYTES, 1)
    state.sample_new = 1
    state.sampled += 1
    state.sampled_bytes += size


@kernel
def guarded_block(state: State, size: int, align: int) -> int:
    """Return the handle of a guarded sample in the next slot, or in the one that was freed first; else NO_BLOCK.

    `guards` has the slots that were freed, as a ring: each is in it once at most.
    """
    if size > state.sample_guard_bytes or align > PAGE:
        return NO_BLOCK
    if state.guards_begun < state.sample_guards:
        slot = state.guards_begun
        state.guards_begun += 1
    elif state.guards_reused < state.guards_freed:
        slot = int(state.guards[state.guards_reused % state.sample_guards])
        state.guards_reused += 1
    else:
        return NO_BLOCK
    state.clean = 1
    state.memory_calls += 1
    commit_huge(state, huge_pages(state, size))
    return GUARDED_CODE + slot


@kernel
def frees_guarded(state: State, block: int, asked: int) -> bool:
    """Free a guarded sample of `asked` bytes; return whether the block is one."""
    if block < GUARDED_CODE:
        return False
    pages = huge_pages(state, asked)
    state.guards[state.guards_freed % state.sample_guards] = block - GUARDED_CODE
    state.guards_freed += 1
    gone(state.listener, huge_at(block), pages * PAGE)
    state.memory_calls += 1
    state.huge_committed -= pages * PAGE
    touch(state.listener, layout.TOTAL_COMMITTED, 1)
    uncommit(state, pages * PAGE)
    return True


@kernel
def sampled_block(state: State, heap: int, size: int, align: int, cls: int) -> int:
    """Count a request; return the handle of its block if it is a sample, NO_BLOCK if it is none.

    Where the run span has no room for a request that a class serves, that is none; NO_ROOM if no class serves it.
    """
    if not takes(state, size):
        return NO_BLOCK
    block = guarded_block(state, size, align)
    if block < 0:
        block = large_block(state, heap, size, align)
    if block >= 0:
        count(state, size)
        return block
    if cls < 0:
        return NO_ROOM
    state.failed_runs -= 1
    return NO_BLOCK


@hit_path
def block_made(state: State, name: int) -> None:
    """Note whether the block that was just made for `name` is a sample."""
    if state.sample_new > 0:
        state.samples_of[name] = 1
        state.sample_new = 0


@hit_path
def block_goes(state: State, name: int, block: int) -> None:
    """The block of this name is freed, or realloc has resized it: it is a sample no more."""
    if state.samples_of[name] > 0:
        mark_lines(state, block)
        touch(state.listener, layout.TOTAL_SAMPLED_FREED, 1)
        state.samples_of[name] = 0
        state.sampled_freed += 1


@hit_path
def must_move(state: State, size: int) -> bool:
    """Return whether a realloc of a small block to `size` is due."""
    return state.sample_on > 0 and bool(size > state.samplers[state.sampler + UNTIL])


@kernel
def stayed(state: State, block: int, size: int) -> None:
    """Count a realloc whose block did not move; that of a small block is no sample."""
    if takes(state, size) and block >= RUN_CODE:
        mark_lines(state, block)
        count(state, size)


@hit_path
def mark_lines(state: State, block: int) -> None:
    """Touch what says that a run is a sample: the record of its first page."""
    if RUN_CODE <= block < HUGE_CODE:
        touch(state.listener, page_at(block - RUN_CODE), 1)
