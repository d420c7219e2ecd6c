"""The commands for assistants that read and run commands by themselves: a guide, and tools by the protocol MCP."""

from heapsmith.api import show
from heapsmith.commands.options import Commands, example

app = Commands()


@app.command("agent-guide", epilog=example("agent-guide", "agent-guide > llms.txt"))
def agent_guide() -> None:
    """Print which command answers which question: one page for assistants that run commands.

    It has the exit status, the JSON Schemas and all commands with their options. It is made of their help.
    """
    from heapsmith.commands.guide import guide

    show.text(guide())


@app.command(epilog=example("mcp"))
def mcp() -> None:
    """Serve the Model Context Protocol on standard input and output, until the input ends.

    The tools read traces and designs: info, sites, diff, simulate, explain. They write no file but the cache, and run
    no program.
    """
    from heapsmith.commands.mcp_server import serve

    serve()
