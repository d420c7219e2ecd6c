"""Countdown: malloc counts down the bytes that its thread asks for; the request that ends the count is a sample."""

from typing import Any

import msgspec

from heapsmith.model.policy.emitted import Function, Hit
from heapsmith.model.policy.sampling import common

NAME = "countdown"
RARE = True
UNPRICED = True
MOMENTS = ("reset",)
ENTRY = Function("hs_malloc_sampled", "sampling_due(bytes)", frozenset({"sampling_due"}), Hit(2, 1, 1))
"""The countdown's offset from the thread's data; the countdown, which is read and written; the branch."""
LARGE = "hs_malloc_large"
WATCHES = False
NUMBERS = common.NUMBERS
STATE = common.STATE
LINK = common.LINK
COSTS = {"sampling.request": 3.0, **common.costs(NAME)}
"""Of a request by hand: the load, the subtraction, the branch."""


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """A Poisson process over the bytes that threads ask for chooses the samples. Each malloc takes three
    instructions more, and a sample takes whole pages.

    mean_bytes: of requests from one sample to the next. seed: of the draws; the same seed draws the
    same samples of the same requests. guards: how many samples can end at a page without access at
    a time, and stay without access after their free (docs/hardening.md).
    """

    mean_bytes: int = 524_288
    seed: int = 1
    guards: int = 0


why_not_valid, why_not_with = common.why_not_valid, common.why_not_with


def numbers(design: Any) -> dict[str, int]:
    """Return what the draws go by: samples are taken from the start."""
    return common.numbers(design, is_on=True)


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return common.files(design, "unparked")


def work(plan: Any, simulation: Any, missed: int, unkept: int) -> Any:
    """Yield the requests that malloc counts, and the samples."""
    yield "sampling.request", common.requests(simulation)
    yield from common.work_of_samples(plan, simulation, NAME)


locks, follow, event_begins = common.locks, common.follow, common.event_begins
sampled_block, frees_guarded = common.sampled_block, common.frees_guarded
block_made, block_goes, must_move, stayed = common.block_made, common.block_goes, common.must_move, common.stayed
