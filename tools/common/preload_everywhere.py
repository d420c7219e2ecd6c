"""Preloads a library to a command: by LD_PRELOAD, or to all its programs whatever their environment (ld.so(8))."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from heapsmith.model.errors import Missing
from heapsmith.tools.common.preload import SPECIAL, Preload, for_all, preload
from heapsmith.tools.common.program_start import Start

FILE = Path("/etc/ld.so.preload")
"""The loader preloads what it names to every program, whatever its environment and rights."""


@contextmanager
def preloading(start: Start, names: list[Preload], comment: str = "") -> Iterator[tuple[Start, tuple[Path, ...]]]:
    """Give the start with these names preloaded, and the files of the first of them as its programs see them.

    For a start `everywhere`, a file with the names, and with `comment` behind a #, stands in place of FILE; only the
    command and its children see that. They get a copy of a library that all users can read. Raises Missing without
    the right to do so.
    """
    if not names:
        yield start, ()
    elif not start.everywhere:
        words = [one.word for one in names]
        yield start._replace(added={**start.added, "LD_PRELOAD": preload(words, start.variables())}), names[0].files
    else:
        with _target(), TemporaryDirectory(prefix="heapsmith-", dir=_folder()) as folder:
            os.chmod(folder, 0o755)  # before for_all looks whether all users can read what is in it
            seen = [_copied(name, Path(folder)) for name in names]
            own = Path(folder) / FILE.name
            lines = [f"#{comment}", *(one.word for one in seen)]
            own.write_bytes(os.fsencode("".join(f"{line}\n" for line in lines)) + FILE.read_bytes())
            own.chmod(0o644)
            yield start._replace(preload_file=str(own)), seen[0].files


def _folder() -> str:
    """The folder for temporary files, if the loader can read its name in a list."""
    return "/tmp" if SPECIAL.search(gettempdir()) else gettempdir()


def _copied(name: Preload, folder: Path) -> Preload:
    """The same of copies of its files that all users can read."""
    if not name.files:
        return name
    found = for_all(*(_copy(file, folder / SPECIAL.sub("_", file.name)) for file in name.files), folder=folder)
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
        elif folder not in path.resolve().parents:  # a library that defines nothing
            target = path.resolve()
            path.unlink()
            _copy(target, path)
    return found


def _copy(library: Path, copied: Path) -> Path:
    shutil.copy(library, copied)
    copied.chmod(0o755)
    return copied


@contextmanager
def _target() -> Iterator[None]:
    """FILE, made empty if it is absent: something must be there for another file to take its place.

    Who uses it holds a lock on it, so that the last one removes it.
    """
    if os.geteuid() != 0:
        raise Missing("--everywhere: expected root, who alone may give a command another /etc/ld.so.preload")
    file = _held()
    try:
        yield
    finally:
        with suppress(OSError):  # another run uses it
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if os.fstat(file).st_size == 0:
                FILE.unlink()
        os.close(file)


def _held() -> int:
    """FILE, open and with a lock; made anew if another run removes it meanwhile."""
    while True:
        try:
            file = os.open(FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        except OSError as error:
            raise Missing(f"--everywhere: {FILE}: {error.strerror}") from None
        fcntl.flock(file, fcntl.LOCK_SH)
        if os.fstat(file).st_nlink > 0:
            return file
        os.close(file)
