"""Pointers: what compiled kernels have instead of arrays of which they use single items only: one word for seven.

Of an array of numbers it is a C pointer, of an array of records its first record, which numba holds by reference.
"""

import functools
from typing import Any


@functools.cache
def begin() -> Any:
    """The intrinsic that makes a pointer of an array."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def pointers_begin(typing: Any, array: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            return builder.bitcast(data, context.get_value_type(signature.return_type))

        item = array.dtype
        return (item if isinstance(item, types.Record) else types.CPointer(item))(array), generate  # type: ignore[no-untyped-call]

    return pointers_begin


@functools.cache
def row() -> Any:
    """The intrinsic that makes record `index` of the first one."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def pointers_row(typing: Any, first: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]])

        return first(first, types.int64), generate

    return pointers_row
