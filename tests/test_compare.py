"""`heapsmith compare`: the answer, its JSON, outputs that differ, exit codes, and mistakes of its user."""

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Answer

from heapsmith.api.programs import stop_of
from heapsmith.commands.arguments import seconds
from heapsmith.model.errors import BadInput
from heapsmith.tools.common.rounds import Stop
from heapsmith.tools.compare.measure import MeasureTable

Call = Callable[..., Answer]

GLIBC_AND_DEFAULT = ("--lib", "glibc", "--lib", "default")


def test_a_design_and_a_library_beside_glibc(call: Call) -> None:
    answer = call("compare", *GLIBC_AND_DEFAULT, "--lib", "lean", "--rounds", "2", "--", "true")
    assert (answer.status, answer.err) == (0, "")
    assert answer.out.startswith("\ntrue: medians of 2 shuffled rounds, as asked\n")
    assert "average RSS" in answer.out
    assert "intervals of 2 rounds say little: 5 is the least to decide by" in answer.out
    assert [line.split(":")[0] for line in answer.out.splitlines() if " against " in line] == [
        "default against glibc",
        "lean against glibc",
    ]


def test_the_answer_as_json(call: Call) -> None:
    answer = call("compare", *GLIBC_AND_DEFAULT, "--rounds", "3", "--json", "--", "sh", "-c", "exit 3")
    table = msgspec.convert(json.loads(answer.out), MeasureTable)
    assert answer.status == 0
    assert (table.command, table.rounds, table.ended, table.own) == (["sh", "-c", "exit 3"], 3, "rounds", [])
    assert table.output_of == "glibc"
    glibc, other = table.rows
    assert (glibc.library, glibc.path, other.library) == ("glibc", None, "default")
    assert Path(other.path or "").name == "libdefault.so"
    assert [(row.exit_status, row.same_output, len(row.runs)) for row in table.rows] == [(3, True, 3)] * 2
    for _, one in other.ratios.items():
        assert one.low is not None
        assert one.high is not None
        assert one.low <= one.median <= one.high


@pytest.mark.thorough
def test_there_are_five_rounds_whatever_the_time(call: Call) -> None:
    words = [*GLIBC_AND_DEFAULT, "--time", "0.1s"]
    answer = call("compare", *words, "--json", "--", "sleep", "0.1")
    table = msgspec.convert(json.loads(answer.out), MeasureTable)
    assert (answer.status, table.rounds, table.ended) == (0, 5, "time")
    assert None not in {one.bounds() for _, one in table.rows[1].ratios.items()}


@pytest.mark.thorough
def test_what_five_rounds_take_is_said_before_them(call: Call) -> None:
    words = [*GLIBC_AND_DEFAULT, "--time", "0.2s"]
    answer = call("compare", *words, "--", "sleep", "0.1")
    first, second = answer.err.splitlines()
    assert first.startswith("sleep: 5 rounds and one to warm up take about ")
    assert first.endswith(" s, more than the 0.2 s for them")
    assert second.startswith("sleep: 5 rounds and one to warm up take about ")
    assert call("compare", *GLIBC_AND_DEFAULT, "--rounds", "1", "--", "true").err == ""


@pytest.mark.parametrize(
    ("script", "status", "said"),
    [
        ("echo $LD_PRELOAD", 1, "the output under default is NOT that under glibc"),
        ('test -z "$LD_PRELOAD"', 1, "the output under default is NOT that under glibc"),
        ('echo $$; test -z "$LD_PRELOAD"', 1, "the output under default is NOT that under glibc"),
        ("echo $$", 0, "the output is not comparable: it varies from run to run under glibc itself"),
        ("echo same; exit 4", 0, "same, exit 4"),
    ],
)
def test_outputs_are_compared(call: Call, script: str, status: int, said: str) -> None:
    answer = call("compare", *GLIBC_AND_DEFAULT, "--rounds", "2", "--", "sh", "-c", script)
    assert (answer.status, said in answer.out) == (status, True), answer.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--lib", "glibc", "--lib", "mimaloc", "--", "true"], "mimaloc: neither a library's path nor one of glibc, "),
        (["--lib", "none.so", "--", "true"], "none.so: no such library"),
        (["--lib", "glibc", "--", "no-such-command"], "no-such-command: no such command, or it is not executable"),
        (["--lib", "glibc"], "Missing argument 'CMD'"),
        (["--", "true"], "Missing option '--lib'"),
        (
            ["--lib", "glibc", "--rounds", "2", "--time", "1s", "--", "true"],
            "--rounds and --time: expected one of them",
        ),
        (["--lib", "glibc", "--time", "soon", "--", "true"], "--time soon: expected a time such as 60s, 5m or 1h"),
    ],
)
def test_mistakes(call: Call, words: list[str], complaint: str) -> None:
    answer = call("compare", *words)
    assert (answer.status, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_times() -> None:
    assert stop_of(None, None, 60) == Stop(limit_s=60)
    assert stop_of(7, None, 60) == Stop(7)
    assert [seconds("--time", text) for text in ("90", "1.5s", "2m", "1h")] == [90, 1.5, 120, 3600]
    with pytest.raises(BadInput, match="--time 0s: expected a time"):
        seconds("--time", "0s")
