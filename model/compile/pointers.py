"""Pointers: compiled kernels take a pointer (one word) for an array (seven words) of single items.

For an array of numbers, this is a C pointer. For an array of records, it is the first record, which
numba holds by reference.
"""

import functools
from typing import Any


@functools.cache
def begin() -> Any:
    """Return the intrinsic that makes a pointer of an array."""
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
    """Return the intrinsic that makes record `index` of the first record."""
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def pointers_row(typing: Any, first: Any, index: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.gep(arguments[0], [arguments[1]])

        return first(first, types.int64), generate

    return pointers_row
