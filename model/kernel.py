"""Kernels: the model's functions over flat arrays, run as plain Python or compiled by numba; one source, two speeds."""

import hashlib
import types
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from heapsmith.model.whole_program import PART, compile_as_one

Ints = NDArray[np.int64]
"""A 1-D array of integers."""

Bytes = NDArray[np.uint8]
"""A column of a trace: operations, alignments."""

Numbers = NDArray[np.uint32]
"""A column of a trace: threads, blocks."""

Records = NDArray[np.void]
"""A 1-D array of records whose fields are all int64 (model/arrays.py): no width to overflow, plain or compiled."""

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

_KERNELS: set[Callable[..., Any]] = set()
_HIT_PATH: set[Callable[..., Any]] = set()


def kernel(function: Kernel) -> Kernel:
    """Mark a function as a kernel and return it unchanged: called directly it runs as plain Python.

    A kernel takes integers and arrays, returns one integer or nothing, and calls other kernels by names of its module.
    """
    _KERNELS.add(function)
    return function


def hit_path(function: Kernel) -> Kernel:
    """Mark a function as a kernel that, compiled, becomes part of its callers.

    A call passes each array as seven numbers: on the path of most events that costs more than what is called.
    """
    _HIT_PATH.add(function)
    return kernel(function)


def compiled(entry: Kernel, **constants: int) -> Kernel:
    """The compiled twin of a kernel and of every kernel it reaches; machine code is kept between processes.

    In the twins the globals named in `constants` have these values: a branch that they decide is left out, and what
    only it reaches is never compiled. ValueError if no kernel uses such a name. numba's cache looks only at the file of
    the entry itself, so the twin's name carries a digest of all that is compiled in: a changed callee or constant is
    never served from a stale cache.
    """
    plain = cast(types.FunctionType, entry)
    return cast(Kernel, _twin(plain, constants, {}, _digest(_specialisable(plain, constants), constants)))


def specialised(entry: Kernel, **constants: int) -> Kernel:
    """A copy of a kernel and of every kernel it reaches, as plain Python, with `constants` as in `compiled`."""
    plain = cast(types.FunctionType, entry)
    _specialisable(plain, constants)
    return cast(Kernel, _copy(plain, constants, {}))


def _specialisable(entry: types.FunctionType, constants: Mapping[str, int]) -> Iterable[types.FunctionType]:
    """The kernels that `entry` reaches; ValueError if none uses a name of `constants`."""
    reached = _reach(entry, {})
    unused = sorted(constants.keys() - {name for function in reached for name in _globals_of(function)})
    if unused:
        raise ValueError(f"{entry.__name__}: no kernel that it reaches uses {', '.join(unused)}")
    return reached


def _globals_of(function: types.FunctionType) -> list[str]:
    """The names of the globals that a function uses."""
    return [name for name in function.__code__.co_names if name in function.__globals__]


def _digest(reached: Iterable[types.FunctionType], constants: Mapping[str, int]) -> str:
    """12 hex digits of this file, of the files of the kernels, and of the global constants that they name."""
    digest = hashlib.sha256()
    for file in sorted({__file__} | {function.__code__.co_filename for function in reached}):
        digest.update(Path(file).read_bytes())
    for function in sorted(reached, key=lambda function: (function.__module__, function.__name__)):
        values = [constants.get(name, function.__globals__[name]) for name in _globals_of(function)]
        numbers = [np.asarray(value).tolist() for value in values if isinstance(value, int | np.ndarray)]
        digest.update(repr(numbers).encode())
    return digest.hexdigest()[:12]


def _callees(function: Callable[..., Any]) -> dict[str, types.FunctionType]:
    plain = cast(types.FunctionType, function)
    values = {name: plain.__globals__[name] for name in _globals_of(plain)}
    return {
        name: value for name, value in values.items() if isinstance(value, types.FunctionType) and value in _KERNELS
    }


def _reach(function: Callable[..., Any], seen: dict[types.FunctionType, None]) -> dict[types.FunctionType, None]:
    """`function` and the kernels it reaches, each once."""
    plain = cast(types.FunctionType, function)
    if plain not in seen:
        seen[plain] = None
        for callee in _callees(plain).values():
            _reach(callee, seen)
    return seen


def _renamed(function: types.FunctionType, replaced: Mapping[str, Any], constants: Mapping[str, int]) -> Any:
    """A copy of `function` whose globals named in `replaced` and `constants` have those values."""
    named = {name: constants[name] for name in _globals_of(function) if name in constants}
    return types.FunctionType(function.__code__, {**function.__globals__, **named, **replaced}, function.__name__)


def _copy(
    function: types.FunctionType, constants: Mapping[str, int], made: dict[types.FunctionType, Any]
) -> types.FunctionType:
    """A plain copy of `function` whose callees are copies too."""
    if function not in made:
        copies = {name: _copy(callee, constants, made) for name, callee in _callees(function).items()}
        made[function] = _renamed(function, copies, constants)
    return cast(types.FunctionType, made[function])


def _twin(
    function: types.FunctionType,
    constants: Mapping[str, int],
    made: dict[types.FunctionType, Any],
    digest: str = "",
) -> Any:
    """The numba dispatcher of a copy of `function` whose callees are twins too; cached on disk under `digest`."""
    import numba

    compile_as_one()
    if function not in made:
        twins = {name: _twin(callee, constants, made) for name, callee in _callees(function).items()}
        copy = _renamed(function, twins, constants)
        copy.__module__ = function.__module__
        copy.__qualname__ = f"{function.__name__}_{digest}" if digest else f"{PART}{function.__name__}"
        # No kernel makes an array: counting references to those passed along (nrt) took most of the time.
        options: dict[str, Any] = {"error_model": "numpy", "no_cfunc_wrapper": True, "_nrt": False}
        options |= {"no_cpython_wrapper": not digest, "forceinline": function in _HIT_PATH}
        made[function] = numba.njit(**options)(copy)
        if digest:
            _keep_on_disk(made[function])
    return made[function]


def _keep_on_disk(dispatcher: Any) -> None:
    """Cache beside the source, in NUMBA_CACHE_DIR or in the user's cache; compile anew where none can be written."""
    try:
        dispatcher.enable_caching()
    except RuntimeError:
        return
