"""Keep: pages once touched are never given back to the OS while the program runs."""

import msgspec

NAME = "keep"


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Pages are never given back."""


def why_not_valid(params: Params) -> str | None:
    """There is nothing to get wrong."""
    return None
