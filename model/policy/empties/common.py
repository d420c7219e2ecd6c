"""What most kinds of empties do: the slab retired last serves again."""

from heapsmith.model.compile.kernel import kernel
from heapsmith.model.memory.state import State


@kernel
def last_retired(state: State, pool: int) -> int:
    """Return the slab that was retired last into the pool, or -1."""
    return int(state.stores[pool]["retired"])
