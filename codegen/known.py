"""The library of a built-in design by its name, where it was built before: no module of the model is loaded for it.

To load the model and to emit the C takes a second, only to find that the cache has the library. A file in the cache
says which library a name had with these sources, as their sizes and times tell, and with this gcc.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from heapsmith.model.errors import HeapsmithError
from heapsmith.model.files import cache_dir, write_text

ROOT = Path(__file__).resolve().parents[1]
PARTS = ("model", "codegen", "templates", "runtime")
"""The folders that a library is made of."""


def known(name: str) -> Path | None:
    """The library that `remember` was told of, if nothing has changed since."""
    with suppress(OSError, HeapsmithError):
        library = Path(_note(name).read_text())
        return library if library.is_file() else None
    return None


def remember(name: str, library: Path) -> Path:
    """Note the library of a built-in design for `known`, and return it; a cache that takes nothing costs only time."""
    with suppress(OSError, HeapsmithError):
        if (ROOT / "model" / "designs" / f"{name}.toml").is_file():
            write_text(_note(name), str(library))
    return library


def _note(name: str) -> Path:
    """The file of a name, these sources and this gcc. FileNotFoundError without gcc."""
    gcc = shutil.which("gcc")
    if gcc is None or os.sep in name:
        raise FileNotFoundError
    parts = [name, gcc, _state(os.stat(gcc)), *sorted(_sources())]
    return cache_dir() / "known" / f"{name}-{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:16]}"


def _sources() -> Iterator[str]:
    """Each source file with its size and time."""
    for part in PARTS:
        for folder, names, files in os.walk(ROOT / part):
            names[:] = [name for name in names if name != "__pycache__"]
            for file in files:
                path = os.path.join(folder, file)
                yield f"{os.path.relpath(path, ROOT)} {_state(os.stat(path))}"


def _state(of: os.stat_result) -> str:
    return f"{of.st_size} {of.st_mtime_ns}"
