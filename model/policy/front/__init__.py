"""Fronts: where a thread keeps the free blocks of a class (docs/machine.md section 4).

A row has Params, `derive(params, stride)` (a FrontPlan), LEVELS, IS_STACK, BATCHED, CODE
(model/policy/emitted.py), and the kernels below; most have a default in common.py. SINGLE, if it
has it, says that single blocks go between its levels. `front` is the index of the heap's front of
class `cls`. Batches go through `state.moved`.
"""

from heapsmith.model.compile.dispatch import dispatched, rows_of
from heapsmith.model.policy.front import common

ROWS = rows_of(__name__, __path__)
NO_FRONT = next(row for row in ROWS if row.LEVELS == 0)

_KIND = 'int(state.classes[cls]["front"])'

front_pop = dispatched(ROWS, "pop", _KIND, common.stack_pop, hit=True)
"""Allocate from level 0: return a block, or NO_BLOCK if level 0 is empty."""
front_promote = dispatched(ROWS, "promote", _KIND, common.no_promotion)
"""Allocate from level 1 when level 0 is empty: return a block, or NO_BLOCK."""
front_fill = dispatched(ROWS, "fill", _KIND, common.stack_fill)
"""Put moved[first] to moved[count - 1], from a refill or a promotion, into an empty level 0."""
front_push = dispatched(ROWS, "push", _KIND, hit=True)
"""Free into the front; return how many blocks of `moved` the store must take, in this order."""
front_drain = dispatched(ROWS, "drain", _KIND)
"""Empty the front; return the number of blocks in `moved`, in drain order."""
front_surplus = dispatched(ROWS, "surplus", _KIND, common.no_surplus)
"""Move `count` blocks that a smaller capacity has no room for to `moved`; return their number."""

front_pop_lines = dispatched(ROWS, "pop_lines", _KIND, common.stack_pop_lines)
"""Touch what the class's own alloc function touches."""
front_look_lines = dispatched(ROWS, "look_lines", _KIND, common.look_lines)
"""Touch what an allocation touches that looks into level 0 again after a drain."""
front_promote_lines = dispatched(ROWS, "promote_lines", _KIND, common.no_promotion_lines)
"""Touch what a promotion touches."""
front_fill_lines = dispatched(ROWS, "fill_lines", _KIND, common.stack_fill_lines)
"""Touch what a refill of `count` blocks touches."""
front_push_lines = dispatched(ROWS, "push_lines", _KIND)
"""Touch what the class's own free function touches."""
front_overflow_lines = dispatched(ROWS, "overflow_lines", _KIND, common.overflow_lines)
"""Touch the counters of an overflow."""
front_drain_lines = dispatched(ROWS, "drain_lines", _KIND, common.stack_drain_lines)
"""Touch what the drain of a front at its thread's exit touches."""
front_resize_lines = dispatched(ROWS, "resize_lines", _KIND, common.no_resize_lines)
"""Touch what a change of the capacity touches besides the capacity; `count` blocks leave."""
