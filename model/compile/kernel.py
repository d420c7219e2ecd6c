"""Kernels: the model's functions over flat arrays, plain Python or compiled by numba."""

import hashlib
import inspect
import linecache
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, TypeVar, cast, get_args

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.compile import pointers, prune
from heapsmith.model.compile.cache import has_numba, keep_on_disk
from heapsmith.model.compile.prune import BEGIN, INT64, ROW, UINT64, Pruned, pruned
from heapsmith.model.compile.whole_program import PART, compile_as_one, needed_passes, uncollected

Ints = NDArray[np.int64]
"""A 1-D array of integers."""

Bytes = NDArray[np.uint8]
"""A column of a trace: operations, alignments."""

Numbers = NDArray[np.uint32]
"""A column of a trace: threads, blocks."""

Records = NDArray[np.void]
"""A 1-D array of records whose fields are all int64 (model/heap/records.py), plain or compiled."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def _item(array: Any) -> Any:
    """Return the item of NDArray[item], which since numpy 2.5 is no longer ndarray[shape, dtype[item]]."""
    arguments = get_args(array)
    return arguments[0] if len(arguments) == 1 else get_args(arguments[1])[0]


class Arrays:
    """Base of a record of named arrays that a kernel takes as its first parameter, `state`.

    A subclass annotates an attribute per array with its type; the arrays of its base come first. If
    an array `scalars` of one record exists, the fields of that record are attributes too. No array
    and no field has the name of a kernel. Plain Python uses the record as it is. For compiled
    kernels, model/compile/prune.py makes a parameter of each array that the kernel needs.
    """

    ITEMS: ClassVar[dict[str, Any]] = {}
    """The type of an array's items, by the array's name."""

    def __init_subclass__(cls) -> None:
        own = inspect.get_annotations(cls)
        cls.ITEMS = cls.ITEMS | {name: _item(kind) for name, kind in own.items()}

    def __init__(self, **arrays: Any) -> None:
        for name, array in arrays.items():
            setattr(self, name, array)

    def __getattr__(self, name: str) -> int:
        try:
            return int(super().__getattribute__("scalars")[0][name])
        except ValueError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.ITEMS:
            super().__setattr__(name, value)
        else:
            super().__getattribute__("scalars")[0][name] = value

    def arrays(self) -> list[Any]:
        """Return the arrays in the order of the annotations."""
        return [getattr(self, name) for name in self.ITEMS]


def record_type(*fields: str) -> np.dtype[np.void]:
    """Return the type of records with these fields, all int64."""
    return np.dtype([(field, np.int64) for field in fields])


def one_record(**numbers: int) -> Records:
    """Return an array of one record with these numbers, all int64."""
    return np.array([tuple(numbers.values())], record_type(*numbers))


# No kernel creates an array: counting references to passed arrays (nrt) took most of the time.
OPTIONS: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
"""Options for the compilation of all kernels."""

_KERNELS: set[Callable[..., Any]] = set()
_HIT_PATH: set[Callable[..., Any]] = set()
_LARGE: set[Callable[..., Any]] = set()
_LOWERED: dict[Callable[..., Any], Callable[[], Any]] = {}
_PARTS: dict[tuple[types.CodeType, bool, tuple[int, ...]], Any] = {}


def kernel(function: Kernel) -> Kernel:
    """Mark a function as a kernel and return it unchanged; a direct call runs plain Python.

    A kernel takes integers, arrays and, first, a record of arrays (`Arrays`). It returns one
    integer or nothing, calls other kernels by names of its module, and reads constants by such
    names or as members of other modules. Its indices are never negative: a compiled array is a
    pointer without bounds checks.
    """
    _KERNELS.add(function)
    return function


def hit_path(function: Kernel) -> Kernel:
    """Mark a function as a kernel that becomes part of its callers when compiled.

    On the path of most events, a call costs more than the called code.
    """
    _HIT_PATH.add(function)
    return kernel(function)


def large_hit_path(function: Kernel) -> Kernel:
    """Mark a function as a kernel that becomes part of its callers on the hit path only.

    This suits a large kernel with many callers: a copy in each takes long to compile.
    """
    _LARGE.add(function)
    return hit_path(function)


def lowered(intrinsic: Callable[[], Any]) -> Callable[[Kernel], Kernel]:
    """Mark a kernel without callees that numba's `intrinsic()` generates when compiled."""

    def mark(function: Kernel) -> Kernel:
        _LOWERED[function] = intrinsic
        return kernel(function)

    return mark


def compiled(entry: Kernel, absent: tuple[str, ...] = (), **constants: int) -> Kernel:
    """Return the compiled twin of a kernel and of every kernel it reaches, cached between
    processes; without numba a plain copy.

    In the twins, the globals named in `constants` have these values. A branch that they decide is
    left out, and code that only this branch reaches is never compiled. absent: scalars of the state
    that are 0 in every call, which decide branches too. Raises ValueError if no kernel uses a name
    of `constants`. numba's cache looks only at the file of the entry itself. So the twin's
    name carries a digest of all compiled code, and the cache never serves a changed callee or
    constant.
    """
    plain = cast(types.FunctionType, entry)
    reached = _specialisable(plain, constants)
    if not has_numba():
        return cast(Kernel, _copy(plain, constants, {}))
    digest = _digest(reached, constants, absent)
    dispatcher = _dispatcher(plain, constants, absent, digest)
    if prune.record_of(plain) is None:
        return cast(Kernel, dispatcher)
    return cast(Kernel, lambda state, *rest: dispatcher(*state.arrays(), *rest))


def specialised(entry: Kernel, **constants: int) -> Kernel:
    """Return a plain copy of a kernel and of every kernel it reaches, with these `constants`."""
    plain = cast(types.FunctionType, entry)
    _specialisable(plain, constants)
    return cast(Kernel, _copy(plain, constants, {}))


def used(entry: Kernel, constants: Mapping[str, int]) -> dict[str, int]:
    """Return those of the constants whose names are used by kernels that `entry` reaches."""
    names = {name for function in _reach(entry, {}) for name in _globals_of(function)}
    return {name: value for name, value in constants.items() if name in names}


def _specialisable(entry: types.FunctionType, constants: Mapping[str, int]) -> Iterable[types.FunctionType]:
    """Return the kernels that `entry` reaches; ValueError if none uses a name of `constants`."""
    reached = _reach(entry, {})
    unused = sorted(constants.keys() - {name for function in reached for name in _globals_of(function)})
    if unused:
        raise ValueError(f"{entry.__name__}: no kernel that it reaches uses {', '.join(unused)}")
    return reached


def _globals_of(function: types.FunctionType) -> list[str]:
    """Return the names of the globals that a function uses."""
    return [name for name in function.__code__.co_names if name in function.__globals__]


def _digest(reached: Iterable[types.FunctionType], constants: Mapping[str, int], absent: tuple[str, ...] = ()) -> str:
    """Return 12 hex digits of this file and the kernels' files, records and global constants."""
    digest = hashlib.sha256(repr(absent).encode())
    intrinsics = {_LOWERED[function].__code__.co_filename for function in reached if function in _LOWERED}
    files = {function.__code__.co_filename for function in reached}
    outer = [function.__globals__[name] for function in reached for name in _globals_of(function)]
    modules = {str(value.__file__) for value in outer if isinstance(value, types.ModuleType)}
    for file in sorted({__file__, pointers.__file__, prune.__file__} | files | intrinsics | modules):
        digest.update("".join(linecache.getlines(file)).encode())
    for function in sorted(reached, key=lambda function: (function.__module__, function.__name__)):
        values = [constants.get(name, function.__globals__[name]) for name in _globals_of(function)]
        numbers = [np.asarray(value).tolist() for value in values if isinstance(value, int | np.ndarray)]
        digest.update(repr((numbers, prune.record_of(function))).encode())
    return digest.hexdigest()[:12]


def _callees(function: types.FunctionType) -> dict[str, types.FunctionType]:
    values = [(name, function.__globals__[name]) for name in _globals_of(function)]
    return {name: value for name, value in values if isinstance(value, types.FunctionType) and value in _KERNELS}


def _reach(function: Callable[..., Any], seen: dict[types.FunctionType, None]) -> dict[types.FunctionType, None]:
    """Return `function` and the kernels it reaches, each once."""
    plain = cast(types.FunctionType, function)
    if plain not in seen:
        seen[plain] = None
        for callee in _callees(plain).values():
            _reach(callee, seen)
    return seen


def _named(function: types.FunctionType, constants: Mapping[str, int]) -> dict[str, Any]:
    """Return the globals of a function with these constants."""
    return function.__globals__ | {name: constants[name] for name in _globals_of(function) if name in constants}


def _copy(
    function: types.FunctionType, constants: Mapping[str, int], made: dict[types.FunctionType, types.FunctionType]
) -> types.FunctionType:
    """Return a plain copy of `function` whose callees are copies too."""
    if function not in made:
        copies = {name: _copy(callee, constants, made) for name, callee in _callees(function).items()}
        made[function] = types.FunctionType(function.__code__, _named(function, constants) | copies, function.__name__)
    return made[function]


def _dispatcher(entry: types.FunctionType, constants: Mapping[str, int], absent: tuple[str, ...], digest: str) -> Any:
    """Return the numba dispatcher of an entry, cached under `digest`; callees come on demand."""
    import numba

    compile_as_one()

    class Pruning(needed_passes()):  # type: ignore[misc]
        """Compiles the pruned entry instead of the entry."""

        def compile_extra(self, func: types.FunctionType) -> Any:
            twin, _ = _twin(entry, constants, absent, {}, is_entry=True)
            twin.__qualname__, twin.__module__ = func.__qualname__, func.__module__
            self.state.typingctx.refresh()  # the context has not seen the intrinsics yet
            with uncollected():
                return super().compile_extra(twin)

    named = types.FunctionType(prune.flat(entry), entry.__globals__, entry.__name__)
    named.__module__ = entry.__module__
    named.__qualname__ = f"{entry.__name__}_{digest}"
    dispatcher = numba.njit(pipeline_class=Pruning, **OPTIONS)(named)
    keep_on_disk(dispatcher, sum(len(function.__code__.co_code) for function in _reach(entry, {})))
    return dispatcher


def _twin(
    function: types.FunctionType,
    constants: Mapping[str, int],
    absent: tuple[str, ...],
    made: dict[tuple[types.FunctionType, bool], Any],
    *,
    is_entry: bool,
) -> tuple[types.FunctionType, Pruned]:
    """Return a pruned function that calls the dispatchers of its pruned callees."""
    callees = {}
    for name, callee in _callees(function).items():
        inlined = callee in _HIT_PATH and (is_entry or function in _HIT_PATH or callee not in _LARGE)
        if (callee, inlined) not in made and callee in _LOWERED:
            made[callee, inlined] = _LOWERED[callee](), pruned(callee, callee.__globals__, {}, is_entry=False)
        elif (callee, inlined) not in made:
            twin, left = _twin(callee, constants, absent, made, is_entry=False)
            made[callee, inlined] = _part(twin, inlined), left
        callees[name] = made[callee, inlined]
    values = _named(function, constants)
    values |= {BEGIN: pointers.begin(), ROW: pointers.row(), INT64: np.int64, UINT64: np.uint64}
    left = pruned(function, values, {name: one for name, (_, one) in callees.items()}, absent, is_entry=is_entry)
    twin = types.FunctionType(left.code, values | {name: one for name, (one, _) in callees.items()}, function.__name__)
    twin.__module__ = function.__module__
    return twin, left


def _part(twin: types.FunctionType, inlined: bool) -> Any:
    """Return the dispatcher of a pruned callee. Equal callees of several entries have one, and compile once."""
    import numba

    used = [twin.__globals__[name] for name in twin.__code__.co_names if name in twin.__globals__]
    key = twin.__code__, inlined, tuple(value if isinstance(value, int) else id(value) for value in used)
    if key not in _PARTS:
        twin.__qualname__ = f"{PART}{twin.__name__}"
        options = OPTIONS | {"no_cpython_wrapper": True, "forceinline": inlined, "pipeline_class": needed_passes()}
        _PARTS[key] = numba.njit(**options)(twin)
    return _PARTS[key]
