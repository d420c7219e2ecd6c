"""The small programs and shared objects of `runtime/replay`, built where they are first needed."""

from collections.abc import Sequence
from importlib.resources import as_file, files
from pathlib import Path

from heapsmith.codegen.layers import HEAP
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool


def runtime_tool(name: str, *sources: str, flags: Sequence[str] = ()) -> Path:
    """A tool of C files of `runtime/replay`, cached or compiled (see build_tool for errors)."""
    with as_file(files("heapsmith.runtime") / "replay") as folder:
        return build_tool(name, [folder / source for source in sources], [*TOOL_FLAGS, *flags], include=[HEAP])
