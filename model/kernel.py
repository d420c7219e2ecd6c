"""Kernels: the model's functions over flat arrays, run as plain Python or compiled by numba; one source, two speeds."""

import hashlib
import types
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

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


def compiled(entry: Kernel) -> Kernel:
    """The compiled twin of a kernel and of every kernel it reaches; machine code is kept between processes.

    numba's cache looks only at the file of the entry itself, so the twin's name carries a digest of all that is
    compiled in: a changed callee or constant is never served from a stale cache.
    """
    return cast(Kernel, _twin(cast(types.FunctionType, entry), {}, _digest(_reach(entry, {}))))


def _digest(reached: Iterable[types.FunctionType]) -> str:
    """12 hex digits of this file, of the files of the kernels, and of the global constants that they name."""
    digest = hashlib.sha256()
    for file in sorted({__file__} | {function.__code__.co_filename for function in reached}):
        digest.update(Path(file).read_bytes())
    for function in sorted(reached, key=lambda function: (function.__module__, function.__name__)):
        values = [function.__globals__.get(name) for name in function.__code__.co_names]
        constants = [np.asarray(value).tolist() for value in values if isinstance(value, int | np.ndarray)]
        digest.update(repr(constants).encode())
    return digest.hexdigest()[:12]


def _callees(function: Callable[..., Any]) -> dict[str, types.FunctionType]:
    code = cast(types.FunctionType, function).__code__
    names = cast(types.FunctionType, function).__globals__
    return {
        name: names[name]
        for name in code.co_names
        if isinstance(names.get(name), types.FunctionType) and names[name] in _KERNELS
    }


def _reach(function: Callable[..., Any], seen: dict[types.FunctionType, None]) -> dict[types.FunctionType, None]:
    """`function` and the kernels it reaches, each once."""
    plain = cast(types.FunctionType, function)
    if plain not in seen:
        seen[plain] = None
        for callee in _callees(plain).values():
            _reach(callee, seen)
    return seen


def _twin(function: types.FunctionType, made: dict[types.FunctionType, Any], digest: str = "") -> Any:
    """The numba dispatcher of a copy of `function` whose callees are twins too; cached on disk under `digest`."""
    import numba

    if function not in made:
        twins = {name: _twin(callee, made) for name, callee in _callees(function).items()}
        copy = types.FunctionType(function.__code__, function.__globals__ | twins, function.__name__)
        copy.__module__ = function.__module__
        copy.__qualname__ = f"{function.__name__}_{digest}" if digest else function.__name__
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
