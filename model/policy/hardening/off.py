"""Off: the heap looks for no misuse and trusts the program."""

import msgspec

from heapsmith.model.policy.emitted import NO_CALLS, Guard

NAME = "off"
DEFAULT = True
STOPS = False
TAIL_BYTES = 0
GUARDED = False
LIVE_MAP = False
ENCODES_LINKS = False
WITH = ("deletes/trusted", "hardening/bare", "hardening/unguarded")
CODE = Guard(NO_CALLS, NO_CALLS, NO_CALLS)


class Params(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag=NAME, tag_field="kind"):
    """Look for no misuse."""
