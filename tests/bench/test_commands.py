"""The laboratory's command line: its commands, their help, and mistakes."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer
from conftest import Answer
from test_cli_mistakes import mistake

from heapsmith.bench.commands.app import app
from heapsmith.commands import cli

Lab = Callable[..., Answer]
TABLE = ["run", "validate", "experiments list", "experiments show", "experiments run"]


def names(commands: typer.Typer) -> set[str]:
    """The first words of all commands."""
    table: Any = typer.main.get_command(commands)
    return set(table.commands)


def test_a_user_has_none_of_its_commands() -> None:
    assert names(app) == {words.split()[0] for words in TABLE}
    assert not names(cli.app) & {"bench", "validate", "experiments"}


@pytest.mark.parametrize("words", TABLE)
def test_help_has_an_example(lab: Lab, words: str) -> None:
    answer = lab(*words.split(), "--help")
    assert (answer.status, answer.err) == (0, "")
    assert f"Usage: python -m heapsmith.bench {words}" in answer.out
    assert f"  python -m heapsmith.bench {words}" in answer.out.split("Examples:\n")[1]


def test_mistakes(lab: Lab, tmp_path: Path) -> None:
    absent = tmp_path / "absent"
    mistake(lab("run", "--quick", "-o", absent / "bench.json"), str(absent), f"there is no folder {absent}")
    answer = lab("nosuch")
    assert answer.status == 2
    assert answer.err == "heapsmith: No such command 'nosuch'. (see python -m heapsmith.bench --help)\n"
    assert lab().out == lab("--help").out
