"""Deliberately bad designs, so that predictions differ much, and designs that hold kinds apart."""

import tomllib
from pathlib import Path

from heapsmith.model.design.design import Design, changed, load

CHANGES = Path(__file__).with_name("bad_designs.toml")


def bad_designs() -> list[Design]:
    """The default design with each table's changes; all are legal, and named after their purpose."""
    base = load("default")
    return [changed(base, name, fields) for name, fields in tomllib.loads(CHANGES.read_text(encoding="utf-8")).items()]
