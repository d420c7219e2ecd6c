"""The guide for assistants holds every command and only what parses; the tools of MCP answer the official client."""

import asyncio
import re
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import typer
from conftest import PROGRAM, Answer
from test_cli import TABLE

from heapsmith.commands import cli
from heapsmith.commands.guide import FILE, QUESTIONS, guide
from heapsmith.commands.mcp_server import TOOLS
from heapsmith.model.files import json_text
from heapsmith.model.trace.stats import trace_info

Call = Callable[..., Answer]
PLACES = re.compile(r"\bPID\b")


def parsed(words: str) -> str:
    """The command that a line runs, which is not run; typer's error for words that it does not take."""
    command: Any = typer.main.get_command(cli.app)
    context: Any = command.context_class(command, info_name="heapsmith")
    rest = PLACES.sub("1", words).split()
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
        context = command.context_class(command, info_name=name, parent=context)
    with command.make_context(context.info_name, rest, parent=context.parent) as made:
        return str(made.command_path)


def test_the_guide_prints_and_is_the_file_of_the_wheel(call: Call) -> None:
    answer = call("agent-guide")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out == guide() == FILE.read_text(), "make generated writes it anew"


def test_the_guide_has_every_command() -> None:
    text = guide()
    assert sorted(re.findall(r"^### heapsmith (.*)$", text, re.MULTILINE)) == sorted(TABLE)
    assert all(f"\n- {status}: " in text for status in range(4))


@pytest.mark.parametrize("question", [words for _, words in QUESTIONS])
def test_the_answer_to_a_question_is_a_command(question: str) -> None:
    assert parsed(question).removeprefix("heapsmith ") in TABLE


@pytest.mark.parametrize("wrong", ["simulate job.hst --no-such", "trace inform job.hst"])
def test_a_wrong_answer_would_be_found(wrong: str) -> None:
    with pytest.raises((typer.TyperException, KeyError)):
        parsed(wrong)


def test_without_the_package_a_line_says_so() -> None:
    code = "import sys; sys.modules['mcp'] = None; from heapsmith.__main__ import main; sys.argv[1:] = ['mcp']; main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr == "heapsmith: no package mcp, of version 2 or later: pip install 'heapsmith[mcp]'\n"


@pytest.mark.thorough
def test_the_server_ends_with_its_input() -> None:
    pytest.importorskip("mcp", reason="mcp is not installed")
    done = subprocess.run([*PROGRAM, "mcp"], input="", capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def asked(work: Callable[[Any], Awaitable[Any]]) -> Any:
    """What somebody learns of the server by the official client, over standard input and output.

    The client takes for its log the standard error that was there when it was imported, by another test perhaps.
    """
    mcp: Any = pytest.importorskip("mcp", reason="mcp is not installed")

    async def connected() -> Any:
        server = mcp.StdioServerParameters(command=PROGRAM[0], args=[*PROGRAM[1:], "mcp"])
        async with mcp.Client(mcp.stdio_client(server, errlog=sys.stderr)) as client:
            return await work(client)

    return asyncio.run(connected())


async def answers(client: Any, calls: list[tuple[str, dict[str, Any]]]) -> list[Any]:
    return [await client.call_tool(name, words) for name, words in calls]


@pytest.mark.thorough
def test_the_tools_only_read() -> None:
    tools = asked(lambda client: client.list_tools()).tools
    assert [tool.name for tool in tools] == [tool.__name__ for tool in TOOLS]
    assert all(tool.annotations.read_only_hint and tool.description for tool in tools)


@pytest.mark.thorough
def test_the_tools_answer_as_the_commands_do(call: Call, trace: Path) -> None:
    calls: list[tuple[str, dict[str, Any]]] = [
        ("info", {"trace": str(trace)}),
        ("diff", {"before": str(trace), "after": str(trace), "top": 3}),
        ("simulate", {"trace": str(trace), "designs": ["default", "bare"]}),
        ("explain", {"design": "default"}),
        ("info", {"trace": "/no/such.hst"}),
        ("explain", {"design": "no-such-design"}),
        ("sites", {"trace": str(trace)}),
    ]
    found = asked(lambda client: answers(client, calls))
    assert [one.is_error for one in found] == [False] * 4 + [True] * 3
    info, diff, simulated, plan = (one.structured_content for one in found[:4])
    assert info == msgspec.json.decode(json_text(trace_info(trace)))
    assert diff["totals"][0] == diff["totals"][1]
    assert len(diff["sizes"]) == 3
    words = ["simulate", trace, "--design", "default", "--design", "bare", "--json"]
    said = msgspec.json.decode(call(*words).out)
    for row in (*simulated["rows"], *said["rows"]):
        assert row.pop("events_per_second") > 0
    assert simulated == said
    assert plan == msgspec.json.decode(call("design", "show", "default", "--json").out)
    complaints = [one.content[0].text for one in found[4:]]
    assert "/no/such.hst: cannot read the trace: No such file" in complaints[0]
    assert "no-such-design" in complaints[1]
    assert "record --stacks" in complaints[2]


@pytest.mark.thorough
def test_sites_come_with_advice(tmp_path: Path) -> None:
    out = tmp_path / "s.hst"
    job = "x = [bytearray(3000) for _ in range(3000)]"
    command = [*PROGRAM, "record", "--only", "--stacks", "-o", str(out), "--", sys.executable, "-S", "-c", job]
    subprocess.run(command, check=True, capture_output=True)
    (found,) = asked(lambda client: answers(client, [("sites", {"trace": str(out), "top": 2})]))
    assert not found.is_error, found.content
    assert len(found.structured_content["sites"]) == 2
    assert found.structured_content["sites"][0]["peak_bytes"] > 9_000_000
    assert "advice" in found.structured_content
