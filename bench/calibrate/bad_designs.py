"""Deliberately bad designs: each does one thing as nobody should, so that a prediction has something to tell apart."""

import tomllib
from pathlib import Path

from heapsmith.model.design.design import Design, changed, load

CHANGES = Path(__file__).with_name("bad_designs.toml")


def bad_designs() -> list[Design]:
    """The default design with the changes of each table of the file; all are legal, and named for what is bad."""
    base = load("default")
    return [changed(base, name, fields) for name, fields in tomllib.loads(CHANGES.read_text(encoding="utf-8")).items()]
