"""Keep: pages once touched are never given back to the OS while the program runs."""

import msgspec

from heapsmith.model.kernel import kernel

NAME = "keep"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages are never given back."""


def why_not_valid(params: Params) -> str | None:
    """There is nothing to get wrong."""
    return None


@kernel
def slab_goes(held: int, keep_slabs: int) -> bool:
    """Whether a retired slab's pages go back when the pools hold `held` slabs with committed pages."""
    return False


@kernel
def run_goes(pages: int, run_pages: int) -> bool:
    """Whether the pages of a freed run go back."""
    return False
