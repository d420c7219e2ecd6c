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
def goes(aged_bytes: int, budget_bytes: int) -> bool:
    """Whether the oldest of an age queue with so many committed bytes gives its pages back."""
    return False
