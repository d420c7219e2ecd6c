"""The tables of what another malloc says of itself."""

from heapsmith.tools.common.tables import Words
from heapsmith.tools.peers.statistics import Statistics

MOST = 20
"""Classes in the table."""


def tables(found: Statistics) -> list[Words]:
    """The statistics as tables: what the memory is for, and the classes with most free bytes."""

    def share(bytes_: int) -> str:
        return f"{bytes_ / found.held_bytes:.1%}" if found.held_bytes else "-"

    blocks = {} if found.block_bytes is None else {"in blocks": found.block_bytes}
    rows = {**blocks, **found.parts}
    rest = found.held_bytes - sum(rows.values())
    all_rows = {**rows, "else": rest, "held": found.held_bytes}
    what = [[name, f"{count:,}", share(count)] for name, count in all_rows.items()]
    most = sorted(found.classes, key=lambda one: -one.free_bytes)[:MOST]
    by_class = [
        [
            f"{one.block_bytes:,}",
            "-" if one.live is None else f"{one.live:,}",
            f"{one.free_bytes:,}",
            share(one.free_bytes),
        ]
        for one in most
        if one.free_bytes
    ]
    advice = [one.split(": ", 1) for one in found.advice]
    every = [
        Words(f"what {found.malloc} holds", ["what", "bytes", "of it"], what),
        Words("classes with most free bytes", ["block", "blocks in use", "bytes free", "of what is held"], by_class),
        Words("settings worth a try", ["setting", "<why"], advice or [["none", "no such part is a tenth of it"]]),
    ]
    return [table for table in every if table.rows]
