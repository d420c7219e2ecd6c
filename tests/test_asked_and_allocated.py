"""Two sums of a trace have two names on every page: allocated bytes, and bytes asked for; and peaks have theirs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Answer
from traces import trace_of

from heapsmith.codegen.toolchain import compile_c
from heapsmith.tools.record.record import record

Call = Callable[..., Answer]

GROWS = """
#include <stdlib.h>
int main(void)
{
    char *grown = NULL;
    for (size_t size = 1000; size <= 100000; size += 1000)
        grown = realloc(grown, size);
    return grown == NULL;
}
"""
ALLOCATED, ASKED = 100_000, sum(range(1000, 100_001, 1000))


@pytest.fixture(scope="module")
def grown(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("grown")
    (folder / "grows.c").write_text(GROWS)
    program = compile_c([folder / "grows.c"], folder / "grows", flags=("-O1", "-g", "-fno-builtin"))
    (found,) = record([str(program)], folder / "grown.hst", stacks=64).traces
    return found.path


def column(text: str, name: str) -> str:
    """What the first row of a table has in a column that aligns to the right."""
    above, row = next((line, text.splitlines()[n + 2]) for n, line in enumerate(text.splitlines()) if name in line)
    end = above.index(name) + len(name)
    return row[:end].rpartition("  ")[2].strip()


def test_growth_and_whole_sizes_have_two_names(call: Call, grown: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A realloc adds its growth to the allocated bytes, and its whole size to the bytes asked for."""
    monkeypatch.setenv("COLUMNS", "400")  # for the longest path
    assert (ALLOCATED, ASKED) == (100_000, 5_050_000)
    said = {"allocated": "97.7 KiB", "asked for": "4.8 MiB"}
    info = call("trace", "info", grown).out
    assert f"allocated         {said['allocated']}" in info
    sites = call("sites", grown, "--no-advice", "--sort", "asked").out
    assert column(sites, "asked for") == said["asked for"]
    assert "allocated" not in sites
    diff = call("diff", grown, grown).out
    assert "allocated bytes" in diff
    assert f"{said['asked for']} -> {said['asked for']}" == column(diff, "asked for")
    assert "allocated" not in diff.partition("By function")[2]
    found = json.loads(call("diff", grown, grown, "--json").out)
    assert found["totals"][0]["allocated_bytes"] == ALLOCATED
    assert sum(row["first"]["bytes"] for row in found["sites"]) == ASKED


def test_no_lifetime_where_no_block_was_freed(
    call: Call, grown: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "500")  # the paths of the traces may be long
    freed = trace_of(tmp_path / "freed.hst", [16] * 9, freed=True)
    out = call("diff", grown, freed).out
    for name in ("p50", "p90", "p99"):
        lines = [line for line in out.splitlines() if line.startswith(f"lifetime, {name} at most")]
        assert ["no block was freed" in line for line in lines].count(True) == 1
    totals = json.loads(call("diff", grown, freed, "--json").out)["totals"]
    assert totals[0]["lifetimes"] is None


def test_blocks_at_the_peak_and_most_blocks_have_two_names(call: Call, grown: Path) -> None:
    assert "blocks at the peak" in call("diff", grown, grown).out
    info = call("trace", "info", grown).out
    assert "most live blocks" in info
    assert "peak blocks" not in info + call("diff", grown, grown).out
