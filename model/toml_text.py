"""TOML files to structs: what can be wrong with a file becomes one line that names it."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from heapsmith.model.errors import BadInput

Stated = TypeVar("Stated")


def read_text(path: Path, source: str) -> str:
    """The text of a file; BadInput names `source` if the file cannot be read or is not UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{source}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise BadInput(f"{source}: cannot be read: not UTF-8 text") from None


def from_toml(text: str, source: str, kind: type[Stated], in_words: Callable[[str], str]) -> Stated:
    """The `kind` that this TOML states; BadInput names `source`, and a wrong field `in_words` of msgspec's message."""
    try:
        return msgspec.convert(tomllib.loads(text), kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {in_words(str(error))}") from None
    except RecursionError:
        raise BadInput(f"{source}: not TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number of more digits than Python reads
        raise BadInput(f"{source}: not TOML: {error}") from None
