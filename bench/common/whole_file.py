"""Files that appear whole or not at all: written under a temporary name, then renamed."""

import json
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


def write_text(path: Path, text: str) -> None:
    """`text` in UTF-8, with names that are not UTF-8 escaped; raises what write_whole raises."""
    write_whole(path, text.encode(errors="backslashreplace"))


def write_json(path: Path, value: object) -> None:
    """`value` as json_text has it; raises what write_whole raises."""
    write_text(path, json_text(value) + "\n")


def json_text(value: object) -> str:
    """`value` as indented JSON in ASCII, whatever bytes a file's name in it has; null for infinite numbers."""
    plain = json.dumps(msgspec.to_builtins(value, str_keys=True))
    return json.dumps(json.loads(plain, parse_constant=lambda _: None), indent=2)
