"""Files that appear whole or not at all: written under a temporary name, then renamed."""

import os
from pathlib import Path

import msgspec

from heapsmith.model.errors import BadInput


def write_whole(path: Path, content: bytes) -> None:
    """`content` as the file `path`; BadInput if it cannot be written."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    except OSError as error:
        raise BadInput(f"{path}: cannot be written: {error.strerror}") from None
    finally:
        temporary.unlink(missing_ok=True)


def write_json(path: Path, value: object) -> None:
    """`value` as indented JSON; raises what write_whole raises."""
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
