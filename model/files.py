"""Files that appear whole or not at all, by a rename; temporary folders; the place of caches."""

import json
import os
import pwd
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, TemporaryFile

import msgspec

from heapsmith.model.errors import BadInput, HeapsmithError, Missing

JSON_FAULTS = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)
"""What msgspec raises for text that is no JSON, or not of the type that is wanted."""

STANDARD = "-"
"""The name of standard input and output."""


@contextmanager
def staged(out: Path, failure: type[HeapsmithError] = BadInput) -> Iterator[Path]:
    """Give a path to write the file `out`: it becomes `out` at the end; exceptions remove it, at any moment.

    The folder of `out` is created if needed. Raises `failure` if the system refuses any of this.
    """
    folder = out.parent / f".{out.name}.{os.urandom(4).hex()}"
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        try:
            folder.mkdir(mode=0o700)
            yield folder / out.name
            (folder / out.name).replace(out)
        finally:
            try:
                rmtree(folder, ignore_errors=True)
            finally:  # a signal may have ended the first
                rmtree(folder, ignore_errors=True)
    except OSError as error:
        raise failure(f"{out}: cannot be written: {error.strerror}") from None


@contextmanager
def scratch() -> Iterator[Path]:
    """Give a folder that is removed at the end; Missing if the system gives none."""
    try:
        folder = TemporaryDirectory(prefix="heapsmith-")
    except OSError as error:
        raise Missing(f"no temporary directory: {error.strerror}") from error
    with folder as name:
        yield Path(name)


def writable_folder(path: Path) -> Path:
    """`path` as a directory, made if it is absent; BadInput if no file can be written in it."""
    try:
        if path.exists() and not path.is_dir():
            raise BadInput(f"{path}: cannot be written to: it is not a directory")
        path.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None


def writable_file(path: Path) -> Path:
    """`path`, or what it links to, as a file to write that a user named; BadInput if it cannot be written.

    Its folder must exist: a folder that is made for a mistyped name hides the mistake. Only folders that a user
    names as such are made (writable_folder).
    """
    try:
        if path.exists() and not path.is_file():
            raise BadInput(f"{path}: cannot be written: it exists and is not a plain file")
        named, path = path, Path(os.path.realpath(path)) if path.is_symlink() else path
        if path.is_symlink():
            raise BadInput(f"{named}: cannot be written: a symbolic link that leads to itself")
        if not path.parent.exists():
            raise BadInput(f"{path}: cannot be written: there is no folder {path.parent}")
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
    writable_folder(path.parent)
    return path


def write_whole(path: Path, content: bytes, failure: type[HeapsmithError] = BadInput) -> None:
    """Write `content` as the file `path`; raises `failure` if it cannot be written: Missing for a file of our own."""
    with staged(path, failure) as written:
        written.write_bytes(content)


def write_text(path: Path, text: str, failure: type[HeapsmithError] = BadInput) -> None:
    """Write `text` in UTF-8 with escapes for other bytes; raises what write_whole raises."""
    write_whole(path, text.encode(errors="backslashreplace"), failure)


def write_json(path: Path, value: object) -> None:
    """Write `value` as json_text; raises what write_whole raises."""
    write_text(path, json_text(value) + "\n")


def json_text(value: object, indent: int | None = 2) -> str:
    """Return `value` as JSON of printable ASCII, with null for infinite numbers; in lines, or without indent in one."""
    plain = json.dumps(msgspec.to_builtins(value, str_keys=True))
    finite = json.loads(plain, parse_constant=lambda _: None)
    text = json.dumps(finite).replace("\x7f", "\\u007f")
    if indent is None:
        return text
    try:
        return msgspec.json.format(text, indent=indent)  # many times faster than json with an indent
    except msgspec.DecodeError:  # half of a surrogate pair, as in a file's name that is not UTF-8
        return json.dumps(finite, indent=indent).replace("\x7f", "\\u007f")


def cache_dir() -> Path:
    """Return `$XDG_CACHE_HOME/heapsmith` or `~/.cache/heapsmith` (XDG) without creating it.

    Raises Missing for a user without a home.
    """
    base = os.environ.get("XDG_CACHE_HOME", "")
    if base.startswith("/"):
        return Path(base) / "heapsmith"
    try:
        home = os.environ.get("HOME") or pwd.getpwuid(os.getuid()).pw_dir
    except KeyError:
        raise Missing(f"user {os.getuid()} has no home directory: set HOME or XDG_CACHE_HOME") from None
    return Path(home) / ".cache" / "heapsmith"
