"""Compiled functions on disk, in the user's cache directory; numba's settings stay as they are."""

import fcntl
import importlib
import importlib.util
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import IO, Any, TypeVar, cast

import numpy as np

from heapsmith.model.compile import wait
from heapsmith.model.errors import Missing
from heapsmith.model.files import cache_dir

Function = TypeVar("Function", bound=Callable[..., Any])

PATIENCE_S = 300
"""Seconds for which a process waits for another one to compile what it needs."""


def cached_njit(function: Function) -> Function:
    """Do numba.njit at the first call, with the result kept on disk; without numba the function stays plain Python.

    So commands that call no such function do not wait for the import of numba.
    """
    return cast(Function, _Late(function))


class _Late:
    """A function whose numba dispatcher is made when it is first used."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function

    def __call__(self, *values: Any) -> Any:
        return self._dispatcher(*values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._dispatcher, name)

    @cached_property
    def _dispatcher(self) -> Any:
        if not has_numba():
            return _plain(self._function)
        import numba

        space: dict[str, Any] = self._function.__globals__
        for name in self._function.__code__.co_names:
            if isinstance(space.get(name), _Late):  # compiled code calls dispatchers alone
                space[name] = space[name]._dispatcher
        dispatcher = numba.njit(self._function)
        keep_on_disk(dispatcher, len(self._function.__code__.co_code))
        return dispatcher


def _plain(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function that works as its compiled form: integers wrap round, fields of records are attributes."""

    def plain(*values: Any) -> Any:
        with np.errstate(over="ignore"):
            found = function(*map(_with_attributes, values))
        return found.item() if isinstance(found, np.generic) else found

    return plain


def _with_attributes(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.names:
        return value.view(np.recarray)
    return _Fields(value) if isinstance(value, np.void) else value


class _Fields:
    """A record whose fields are attributes."""

    def __init__(self, record: np.void) -> None:
        object.__setattr__(self, "_record", record)

    def __getattr__(self, name: str) -> Any:
        return self._record[name]

    def __setattr__(self, name: str, value: Any) -> None:
        self._record[name] = value


def keep_on_disk(dispatcher: Any, code_bytes: int) -> None:
    """Keep what a dispatcher compiles in NUMBA_CACHE_DIR, if set, or in `cache_dir()/numba`.

    code_bytes: of Python's code of all that it compiles. If neither can be written, each process compiles again, and a
    person is told so before the first time.
    """
    compile_now = dispatcher.compile
    try:
        cache = _cache_class()(dispatcher.py_func)
    except (RuntimeError, Missing):

        def compiled_anew(signature: Any) -> Any:
            wait.uncached()
            wait.begin(code_bytes)
            return compile_now(signature)

        dispatcher.compile = compiled_anew
        return
    cache.compile_now, cache.code_bytes = compile_now, code_bytes

    def compiled(signature: Any) -> Any:
        try:
            return compile_now(signature)
        finally:  # also if the compilation fails or is interrupted
            cache.end_turn()

    dispatcher._cache, dispatcher.compile = cache, compiled


@lru_cache(maxsize=1)
def _cache_class() -> Any:
    """Return numba's cache with other places in order, none of them beside the sources."""
    from numba.core import caching

    in_variable, _, in_home, *_ = caching.CompileResultCacheImpl._locator_classes

    class InCacheDir(in_home):  # type: ignore[misc, valid-type]
        def __init__(self, function: Callable[..., Any], file: str) -> None:
            super().__init__(function, file)
            self._cache_path = str(cache_dir() / "numba" / self.get_suitable_cache_subpath(file))

    class Implementation(caching.CompileResultCacheImpl):
        _locator_classes = [in_variable, InCacheDir]  # noqa: RUF012 - numba's own is a list

    class Cache(caching.FunctionCache):
        """A cache whose faults (a file cut off by a crash, a full disk) cost only a compilation.

        Of processes that need a function at once, one compiles it while the others wait.
        """

        _impl_class = Implementation
        _turn: Any = None
        compile_now: Callable[[Any], Any]
        code_bytes: int

        def load_overload(self, signature: Any, context: Any) -> Any:
            found = self._loaded(signature, context)
            if found is None and self._turn is None:
                wait.begin(self.code_bytes)
                self._turn = _turn(Path(self._cache_path), self._impl.filename_base)
                found = self._loaded(signature, context)
                if found is None and wait.is_told():
                    wait.in_child(self.compile_now, signature)
                    found = self._loaded(signature, context)
                if found is not None:
                    self.end_turn()
            return found

        def _loaded(self, signature: Any, context: Any) -> Any:
            try:
                return super().load_overload(signature, context)  # type: ignore[no-untyped-call]
            except Exception:
                with suppress(OSError):
                    self.flush()  # type: ignore[no-untyped-call]
                return None

        def save_overload(self, signature: Any, data: Any) -> None:
            with suppress(OSError):
                super().save_overload(signature, data)  # type: ignore[no-untyped-call]
            self.end_turn()

        def end_turn(self) -> None:
            """Let another process compile the function."""
            if self._turn:
                fcntl.flock(self._turn, fcntl.LOCK_UN)  # a process forked meanwhile holds it too
                self._turn.close()
            self._turn = None

    return Cache


def _turn(folder: Path, name: str) -> IO[bytes] | None:
    """Wait until no other process compiles the function; return the lock's file, or None without.

    The lock of a process ends with it. After PATIENCE_S, the wait is in vain.
    """
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / f"{name}.lock").open("ab")
        end = time.monotonic() + PATIENCE_S
        with wait.reported():
            while time.monotonic() < end:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    return file
                except BlockingIOError:
                    time.sleep(0.05)
        file.close()
    return None


@cache
def has_numba() -> bool:
    """Import numba and say whether it is there; a person is told that without it the model is slow."""
    if importlib.util.find_spec("numba") is None:
        wait.plain()
        return False
    import_numba()
    return True


def import_numba() -> None:
    """Import numba without BLAS: the import of scipy for BLAS takes longer than all the rest."""
    if sys.modules.keys().isdisjoint(("scipy.linalg", "numba.np.arraymath")):
        sys.modules["scipy.linalg"] = None  # type: ignore[assignment]
        try:
            importlib.import_module("numba.np.arraymath")
        finally:
            del sys.modules["scipy.linalg"]
