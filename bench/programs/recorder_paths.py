"""The gate of the recorder: instructions that it adds to a pair of malloc and free (tests/test_hot_paths.py)."""

from pathlib import Path

from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.codegen.toolchain import Tool
from heapsmith.tools.record.record import recorder_tool

HURRY = "-DSHARED_TICKS=(1<<28)"
"""Callgrind takes fifty times as long as the processor, so events would seldom share a stamp."""

MOST = {0: 130.0, 64: 220.0}
"""Instructions allowed, by the most frames of a stack; measured: 125.4 and 212.5 (gcc 12.2). 15 of them are a memset of
full windows, whose instruction callgrind counts once for each byte.
"""


def hurried(stacks: int) -> Path:
    """The recorder, for which events always come fast."""
    tool = recorder_tool(stacks)
    return Tool(tool.name, tool.sources, (*tool.flags, HURRY), tool.include).ready()


def added(stacks: int, *, operations: int = 20_000) -> float:
    """Instructions that the recorder adds to a malloc and the free of its block, the calls of the real ones included.

    The environment names the folder of spools. Raises what `per_operation` raises.
    """
    row = FORMS["pair-32"]
    both = [per_operation(row, library, operations=operations) for library in (hurried(stacks), None)]
    return both[0] - both[1]
