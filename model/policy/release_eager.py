"""Eager: empty slabs beyond a budget and long free runs give their pages back at once (MADV_DONTNEED)."""

import msgspec

from heapsmith.model.kernel import kernel

NAME = "eager"
PAGE = 4096


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages of empty slabs and long free runs go back to the OS.

    keep_slabs: empty slabs that may keep their pages; run_bytes: free runs this long or longer give theirs back.
    """

    keep_slabs: int = 64
    run_bytes: int = 4_194_304


def why_not_valid(params: Params) -> str | None:
    """The reason why these parameters make no release policy, or None."""
    if params.keep_slabs < 0:
        return f"keep_slabs: {params.keep_slabs} is negative; expected 0 or more slabs"
    if params.run_bytes < PAGE or params.run_bytes % PAGE:
        return f"run_bytes: {params.run_bytes} is no multiple of the page; expected a positive multiple of {PAGE}"
    return None


@kernel
def slab_goes(held: int, keep_slabs: int) -> bool:
    """Whether a retired slab's pages go back when the pools hold `held` slabs with committed pages."""
    return held >= keep_slabs


@kernel
def run_goes(pages: int, run_pages: int) -> bool:
    """Whether the pages of a freed run go back."""
    return pages >= run_pages
