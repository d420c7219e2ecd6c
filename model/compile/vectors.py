"""Vectors: compiled kernels replace two loops of model/memory/lru_sets.py by branch-free instructions.

LLVM maps a vector of FEW words to two to eight registers of the processor. If a set has fewer ways,
the words behind it take part and stay unchanged. numba makes no vectors of such short loops itself.
"""

from typing import Any

FEW = 16
"""Ways of a set that make a vector."""


def find_few() -> Any:
    """Return the intrinsic for sets.find_few."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def vectors_find_few(typing: Any, listener: Any, first: Any, ways: Any, key: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _, entries = _entries(builder, arguments)
            flagged = builder.or_(entries, _numbers([1] * FEW))
            equal = builder.icmp_signed("==", flagged, _all(builder, arguments[3]))
            found = builder.zext(builder.bitcast(equal, ir.IntType(FEW)), ir.IntType(64))
            none = builder.shl(ir.Constant(ir.IntType(64), 1), arguments[2])
            return builder.cttz(builder.or_(found, none), ir.Constant(ir.IntType(1), 1))

        return types.int64(listener, types.int64, types.int64, types.int64), generate

    return vectors_find_few


def push_few() -> Any:
    """Return the intrinsic for sets.push_few."""
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    @intrinsic
    def vectors_push_few(typing: Any, listener: Any, first: Any, way: Any, entry: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            place, entries = _entries(builder, arguments)
            by_one = ir.Constant(ir.VectorType(ir.IntType(32), FEW), [0, *range(FEW, 2 * FEW - 1)])
            pushed = builder.shuffle_vector(_all(builder, arguments[3]), entries, by_one)
            moves = builder.icmp_signed("<=", _numbers(list(range(FEW))), _all(builder, arguments[2]))
            builder.store(builder.select(moves, pushed, entries), place, align=8)
            return context.get_dummy_value()

        return types.none(listener, types.int64, types.int64, types.int64), generate

    return vectors_push_few


def _numbers(numbers: list[int]) -> Any:
    """Return a constant vector."""
    from llvmlite import ir

    return ir.Constant(ir.VectorType(ir.IntType(64), len(numbers)), numbers)


def _all(builder: Any, value: Any) -> Any:
    """Return a vector whose words are all `value`."""
    from llvmlite import ir

    undefined = ir.Constant(ir.VectorType(ir.IntType(64), FEW), ir.Undefined)
    one = builder.insert_element(undefined, value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(one, undefined, ir.Constant(ir.VectorType(ir.IntType(32), FEW), [0] * FEW))


def _entries(builder: Any, arguments: Any) -> tuple[Any, Any]:
    """Return the place of the FEW words from the second argument's index on, and these words."""
    from llvmlite import ir

    words = ir.VectorType(ir.IntType(64), FEW).as_pointer()
    place = builder.bitcast(builder.gep(arguments[0], [arguments[1]]), words)
    return place, builder.load(place, align=8)
