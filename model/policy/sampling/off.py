"""Off: no request is a sample."""

from heapsmith.model.policy.emitted import NOTHING, Function

NAME = "off"
DEFAULT = True
OFF = True
ENTRY = Function("", hit=NOTHING)


def files(design: object) -> dict[str, str]:
    """Return the header of the profile of samples, which there is none of."""
    return {"api": "no_profile"}
