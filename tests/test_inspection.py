"""Does `inspect` say at once what record, sites, leaks and report say one by one?"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer

from heapsmith.codegen.toolchain import compile_c
from heapsmith.commands import results_sites
from heapsmith.tools.sites.sites import SiteTable

Call = Callable[..., Answer]

PROGRAM = """\
#include <stdio.h>
#include <stdlib.h>
void *volatile kept;
__attribute__((noinline)) static void keeps(void) { kept = malloc(90); }
__attribute__((noinline)) static void hurries(void) { kept = malloc(30); free(kept); kept = NULL; }
int main(int count, char **words)
{
    for (int at = 0; at < 500; at++) {
        keeps();
        hurries();
    }
    puts(words[count - 1]);
    return 7;
}
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / "p.c").write_text(PROGRAM)
    compile_c([tmp_path / "p.c"], tmp_path / "p", flags=("-O1", "-g", "-fno-builtin"))
    return tmp_path / "p"


@pytest.mark.thorough
def test_inspect_is_its_parts(call: Call, program: Path, tmp_path: Path) -> None:
    out = tmp_path / "a folder"
    answer = call("inspect", "-o", out, "--json", "--", program, "a word")
    assert answer.status == 7
    assert "a word" in answer.err
    found: dict[str, Any] = json.loads(answer.out)
    assert sorted(path.name for path in out.iterdir()) == ["report.html", "run.hst"]
    assert (found["trace"], found["report"]) == (str(out / "run.hst"), str(out / "report.html"))
    assert found["exit_status"] == 7
    assert found["sites"] == json.loads(call("sites", found["trace"], "--sort", "peak", "--json").out)
    assert found["leaks"] == json.loads(call("leaks", found["trace"], "--json").out)
    rows = {row["path"][0]["function"]: row for row in found["sites"]["sites"]}
    assert (rows["keeps"]["end_blocks"], rows["keeps"]["temporary"]) == (500, 0)
    assert (rows["hurries"]["end_blocks"], rows["hurries"]["temporary"]) == (0, 500)


@pytest.mark.thorough
def test_inspect_prints_tables(call: Call, program: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    answer = call("inspect", "-o", out, program, "word")
    assert answer.status == 7
    assert answer.out.startswith("word\n")
    parts = answer.out.partition("Temporary allocations")
    assert "keeps (p.c:4)" in parts[0]
    assert "blocks are live after event" in " ".join(parts[0].split())
    temporary, _, scoped = parts[2].partition("Freed in the call that asked for them")
    for table in (temporary, scoped):
        rows = [line.split()[:3] for line in table.splitlines() if "hurries" in line]
        assert rows == [["hurries", "(p.c:5)", "500"]]
        assert "keeps" not in table
    assert f"{out / 'report.html'}: the trace and its page" in answer.err


def test_a_table_without_rows_is_a_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    results_sites.temporary(SiteTable("t.hst", "site", 0, 0, None, 0, 0, 0, [], [], []), 10)
    assert capsys.readouterr().out.strip().startswith("No temporary allocations")


def test_of_a_program_that_never_called_malloc_there_is_one_line(call: Call, tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text("int main(void) { return 0; }\n")
    compile_c([tmp_path / "p.c"], tmp_path / "p")
    out, why = tmp_path / "out", "no allocation, so there is nothing to show: its program never called malloc"
    trace = out / "run.hst"
    for words in (["inspect", "-o", out, tmp_path / "p"], ["sites", trace], ["leaks", trace], ["knobs", trace]):
        assert call(*words) == Answer(2, "", f"heapsmith: {trace}: {why}\n")
    assert call("report", trace, "-o", out / "r.html") == Answer(2, "", f"heapsmith: {trace}: {why}\n")
    assert list(out.iterdir()) == [trace]
