"""Off: no request is a sample."""

from typing import Any

from heapsmith.model.policy.emitted import NOTHING, Function
from heapsmith.model.policy.sampling.common import UNRECORDED

NAME = "off"
DEFAULT = True
OFF = True
ENTRY = Function("", hit=NOTHING)
LARGE = "hs_malloc_large"
WATCHES = False


def files(design: Any) -> dict[str, str]:
    """Return the headers of the row by what they are for."""
    return {"parked": "unparked", "api": "no_profile", "guards": "unguarded", **UNRECORDED}
