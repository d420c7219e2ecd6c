"""Draws docs/explain/funnel.svg: how many calls of malloc reach each layer of a heap, from docs/explain/demo.json.

python -m heapsmith.bench.gates.funnel [--check] (make generated, make check)
"""

import math
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "explain"
PICTURE = FOLDER / "funnel.svg"
WIDTH, BAR, GAP, LEFT = 720, 34, 14, 220
LAYERS = (
    ("requests", "malloc: the thread's stack"),
    ("refills", "refill from a slab"),
    ("slabs", "a new slab of the class"),
    ("superslabs", "memory from the system"),
)


class Counts(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `simulate --json` told of a recording: calls, blocks and slabs; the command that made it."""

    command: str
    design: str
    events: int
    requests: int
    refills: int
    refilled: int
    slabs: int
    superslabs: int
    frees: int
    flushes: int
    instructions_per_operation: float


def counts() -> Counts:
    """The counts of the recording."""
    return msgspec.json.decode((FOLDER / "demo.json").read_bytes(), type=Counts)


def drawn(of: Counts) -> str:
    """The picture: a bar for each layer, whose length is the logarithm of its calls."""
    most = math.log10(of.requests)
    height = len(LAYERS) * (BAR + GAP) + GAP
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" font-family="sans-serif" '
        'font-size="14" role="img">',
        "<title>How many calls of malloc reach each layer, on a logarithmic scale</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
    ]
    for number, (field, label) in enumerate(LAYERS):
        calls = getattr(of, field)
        top, width = GAP + number * (BAR + GAP), (WIDTH - LEFT - 110) * math.log10(calls) / most
        middle = top + BAR / 2 + 5
        lines += [
            f'<text x="{LEFT - 12}" y="{middle:.0f}" text-anchor="end" fill="#222222">{label}</text>',
            f'<rect x="{LEFT}" y="{top}" width="{width:.1f}" height="{BAR}" fill="#3b6ea5"/>',
            f'<text x="{LEFT + width + 8:.1f}" y="{middle:.0f}" fill="#222222">{calls:,}</text>',
        ]
    return "\n".join([*lines, "</svg>"]) + "\n"


def main(check: Annotated[bool, typer.Option("--check", help="Write nothing.")] = False) -> int:
    """Draw the picture; with --check, fail where it is another."""
    picture = drawn(counts())
    if check and (not PICTURE.exists() or PICTURE.read_text() != picture):
        raise CheckFailed("docs/explain/funnel.svg: differs from demo.json; expected a run of `make generated`")
    if not check:
        write_text(PICTURE, picture)
    return 0


if __name__ == "__main__":
    exit_with(main)
