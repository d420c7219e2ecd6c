"""No run cache: a freed run goes to the bins at once."""

from heapsmith.model.memory.state import State

NAME = "off"
ZERO = True


def cached_runs(state: State) -> list[int]:
    """Return no runs."""
    return []


def held_bytes(state: State) -> int:
    """Return 0."""
    return 0
