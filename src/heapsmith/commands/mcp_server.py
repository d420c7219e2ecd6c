"""The tools of `heapsmith mcp`: what commands print with --json, for assistants that speak the protocol MCP."""

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Literal

import msgspec

import heapsmith
from heapsmith.commands.sites import have_stacks
from heapsmith.model.errors import HeapsmithError, Missing
from heapsmith.model.files import json_text

Found = dict[str, Any]
By = Literal["site", "path", "function", "module"]

INSTRUCTIONS = (
    "heapsmith records what a program allocates (heapsmith record --only --stacks -o job.hst -- CMD), and answers "
    "questions about such traces. All bytes are exact; `heapsmith agent-guide` prints which command does what."
)


def info(trace: str) -> Found:
    """Return a trace in figures: events, threads, sizes, lifetimes, peak live bytes, frees by other threads."""
    from heapsmith.model.trace.stats import trace_info

    return _plain(trace_info(Path(trace)))


def sites(trace: str, by: By = "function", top: int = 20) -> Found:
    """Return which code the memory of a trace is for, with advice, the largest at the peak first.

    The trace needs call stacks (record --stacks). top: how many sites.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.predict.pins_at_moments import site_lives
    from heapsmith.tools.sites.advice import with_advice
    from heapsmith.tools.sites.grouping import group_sites
    from heapsmith.tools.sites.sites import site_table

    designs = [load("default")]
    groups = group_sites(Path(trace), by, 1, [])
    lives = site_lives(groups.grouped)
    table = with_advice(groups, lives, site_table(groups, lives, designs, order="peak"), designs)
    return _plain(msgspec.structs.replace(table, sites=table.sites[:top]))


def diff(before: str, after: str, by: By = "function", top: int = 20) -> Found:
    """Return how two traces differ: peaks, lifetimes, sizes, and with call stacks which code asks for more.

    top: how many rows of sites and of sizes, those that differ most in their peak.
    """
    from heapsmith.tools.sites.diff import difference
    from heapsmith.tools.sites.grouping import group_sites

    traces = (Path(before), Path(after))
    groups = (group_sites(traces[0], by, 1, []), group_sites(traces[1], by, 1, [])) if have_stacks(*traces) else None
    found = difference(traces, groups, by)
    cut = None if found.sites is None else found.sites[:top]
    return _plain(msgspec.structs.replace(found, sites=cut, sizes=found.sizes[:top]))


def simulate(trace: str, designs: list[str], machine: str | None = None) -> Found:
    """Return what designs would do on a trace: hits, refills, slabs, committed bytes, fragmentation.

    designs: names of built-in designs (`default`, `lean`, ...) or files. machine: `default` or a file adds cache misses
    and resident bytes.
    """
    return _plain(heapsmith.simulate(trace, designs, machine=machine).details)


def explain(design: str) -> Found:
    """Return a design: what it is for, its policies, and every number that follows from it, by size class."""
    from heapsmith.model.design.design import load
    from heapsmith.model.design.fitted import plan_for

    return _plain(plan_for(load(design), None))


TOOLS = (info, sites, diff, simulate, explain)


def _plain(result: Any) -> Found:
    """Return a result as its command prints it with --json."""
    found: Found = msgspec.json.decode(json_text(result))
    return found


def serve() -> None:
    """Answer on standard input and output until the input ends; Missing without the package."""
    try:
        from mcp.server.mcpserver import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
        from mcp.types import ToolAnnotations
    except ImportError:
        raise Missing("no package mcp, of version 2 or later: pip install 'heapsmith[mcp]'") from None

    def said(tool: Callable[..., Found]) -> Callable[..., Found]:
        @wraps(tool)
        def run(**words: Any) -> Found:
            try:
                return tool(**words)
            except HeapsmithError as error:
                raise ToolError(str(error)) from None
            except OSError as error:
                raise ToolError(f"{error.filename}: {error.strerror}") from None

        return run

    server = MCPServer("heapsmith", instructions=INSTRUCTIONS, version=heapsmith.__version__, log_level="WARNING")
    only_reads = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
    for tool in TOOLS:
        server.tool(annotations=only_reads)(said(tool))
    server.run()
