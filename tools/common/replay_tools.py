"""The small programs and shared objects of `runtime/replay`."""

from collections.abc import Sequence

from heapsmith.codegen.layers import ABOUT_PROCESSORS, RUNTIME
from heapsmith.codegen.toolchain import TOOL_FLAGS, Tool


def runtime_tool(name: str, *sources: str, flags: Sequence[str] = ()) -> Tool:
    """A tool of C files of `runtime/replay`."""
    paths = [RUNTIME / "replay" / source for source in sources]
    return Tool(name, paths, [*TOOL_FLAGS, *flags], ABOUT_PROCESSORS)
