"""TOML files to structs: each fault of a file becomes one line with the file's name."""

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import msgspec

from heapsmith.model.constants import TRACE_MAGIC
from heapsmith.model.errors import BadInput, WrongKind

Stated = TypeVar("Stated")

SCHEMA_KINDS = ("design", "machine", "grid")
"""The kinds of TOML files that have a JSON Schema in the package."""


def schema_file(kind: str) -> Path:
    """Return the file of the JSON Schema of a kind of TOML files, in this installation."""
    return Path(__file__).resolve().parent / "schemas" / f"{kind}.schema.json"


def schema_line(kind: str) -> str:
    """Return the first line of a TOML file by which editors find its schema (taplo's `#:schema` directive)."""
    return f"#:schema {schema_file(kind).as_uri()}\n"


def read_text(path: Path, source: str) -> str:
    """Return the text of a file; BadInput names `source` if it is unreadable or not UTF-8, such as a trace."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{source}: cannot be read: {error.strerror}") from None
    except UnicodeDecodeError as error:
        if error.object.startswith(TRACE_MAGIC):
            read_by = "`trace info`, `sites`, `simulate` and others"
            raise WrongKind(f"{source}: is a trace, which {read_by} read; expected text") from None
        raise WrongKind(f"{source}: cannot be read: not UTF-8 text") from None


def from_toml(text: str, source: str, kind: type[Stated], in_words: Callable[[str], str]) -> Stated:
    """Return the `kind` of a TOML text; BadInput names `source`, and a field by `in_words`."""
    try:
        return msgspec.convert(tomllib.loads(text), kind)
    except msgspec.ValidationError as error:
        raise BadInput(f"{source}: {in_words(str(error))}") from None
    except RecursionError:
        raise BadInput(f"{source}: not TOML: nested too deeply") from None
    except ValueError as error:  # TOMLDecodeError, or a number with too many digits for Python
        raise BadInput(f"{source}: not TOML: {error}") from None
