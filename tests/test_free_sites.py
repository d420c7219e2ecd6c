"""The call sites of frees: in a trace and its readers, by the recorder, and the options that ask for them."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL

import numpy as np
import pytest
from conftest import Answer
from preloaded import FLAGS
from test_cli_mistakes import mistake
from test_record_stacks import paths_of
from test_trace_stacks import TREE
from traces import random_chunk

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.errors import BadInput
from heapsmith.model.trace import codec, frames
from heapsmith.model.trace.anonymise import anonymise
from heapsmith.model.trace.codec import FREE_SITE, Column
from heapsmith.model.trace.events import DEATHS, WITH_SITE, Chunk, Op, op_mask
from heapsmith.model.trace.reader import TraceReader, TraceWriter, salvage, verify
from heapsmith.tools.record.record import record
from heapsmith.tools.sites.grouping import group_sites
from heapsmith.tools.sites.scoped import scoped_table

Call = Callable[..., Answer]
EVENTS, PART = 2000, 300
CHUNK: Chunk = random_chunk(EVENTS, 7, 3, live=50)
SITES = np.where(op_mask(WITH_SITE | DEATHS)[CHUNK.op], np.random.default_rng(5).integers(0, 5, EVENTS), 0).astype(
    np.uint32
)
OF_REQUESTS = np.where(op_mask(WITH_SITE)[CHUNK.op], SITES, 0)


def written(path: Path, *, frees: bool = True, sites: np.ndarray[tuple[int], np.dtype[np.uint32]] = SITES) -> Path:
    with TraceWriter(path, command=[], source="test", chunk_events=PART, sites=True, free_sites=frees) as writer:
        for first in range(0, EVENTS, 777):
            writer.append(CHUNK.part(first, first + 777), sites[first : first + 777])
        writer.close({"stacks": TREE.packed()})
    return path


def read(path: Path, *, frees: bool) -> list[int]:
    with TraceReader(path) as trace:
        return [int(number) for _, site in trace.sited(frees=frees) for number in site]


def test_sites_of_frees_come_back_to_who_asks_for_them(tmp_path: Path) -> None:
    path = written(tmp_path / "t.hst")
    assert verify(path).events == EVENTS
    assert read(path, frees=True) == SITES.tolist()
    assert read(path, frees=False) == OF_REQUESTS.tolist()
    with TraceReader(path, sited=True) as trace:
        assert [int(number) for part in trace for number in part.site] == OF_REQUESTS.tolist()
        assert [int(number) for part in trace.part(100, 700) for number in part.site] == OF_REQUESTS[100:700].tolist()
        assert trace.header.has_free_sites


def test_a_trace_without_them_has_none(tmp_path: Path) -> None:
    path = written(tmp_path / "t.hst", frees=False)
    assert read(path, frees=True) == OF_REQUESTS.tolist()
    with TraceReader(path) as trace:
        assert not trace.header.has_free_sites


def test_a_reader_that_does_not_know_them_skips_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "t.hst")
    for module in (codec, frames):
        monkeypatch.setattr(module, "FREE_SITE", Column("of another version", "uint8", [0], "plain"))
    assert verify(path).events == EVENTS
    assert read(path, frees=True) == OF_REQUESTS.tolist()


def test_a_site_that_is_no_stack_is_damage(tmp_path: Path) -> None:
    sites = SITES.copy()
    sites[np.flatnonzero(CHUNK.op == Op.FREE)[3]] = 9
    path = written(tmp_path / "t.hst", sites=sites)
    for look in (verify, lambda path: read(path, frees=False)):
        with pytest.raises(BadInput, match="chunk 0: site 9; the footer has 4 stacks"):
            look(path)


def test_tools_keep_them(tmp_path: Path) -> None:
    path = written(tmp_path / "t.hst")
    anonymise(path, tmp_path / "a.hst")
    assert read(tmp_path / "a.hst", frees=True) == SITES.tolist()
    salvage(path, tmp_path / "s.hst")
    assert read(tmp_path / "s.hst", frees=True) == SITES.tolist()
    assert FREE_SITE.ops == sorted(map(int, DEATHS))


PROGRAM = """\
#define _GNU_SOURCE
#include <malloc.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void *volatile held[8];

__attribute__((noinline, noclone)) static void by_free(int at) { free(held[at]); held[at] = NULL; }
__attribute__((noinline, noclone)) static void to_nothing(int at) { held[at] = realloc(held[at], 0); }
__attribute__((noinline, noclone)) static void moved(int at) { held[at] = realloc(held[at], 5000); held[0] = held[at]; }
__attribute__((noinline, noclone)) static void again(int at)
{
    for (int time = 0; time < 9000; time++) {
        held[at] = malloc(70);
        by_free(at);
        held[at] = NULL;
    }
}

int main(void)
{
    for (int at = 0; at < 8; at++)
        held[at] = malloc(50);
    by_free(1);
    to_nothing(2);
    moved(3);
    again(4);
    if (fork() == 0) { /* frees what its own trace does not know, from two places, and asks for nothing */
        by_free(5);
        free(held[6]);
        _exit(0);
    }
    wait(NULL);
    return 0;
}
"""


def test_the_recorder_tells_where_blocks_are_freed(tmp_path: Path) -> None:
    (tmp_path / "p.c").write_text(PROGRAM)
    compile_c([tmp_path / "p.c"], tmp_path / "p", flags=(*FLAGS, "-g"))
    parent, child = record([str(tmp_path / "p")], tmp_path / "t.hst", stacks=64, frees=True).traces
    assert (parent.drops, parent.nested, parent.sites_wrong) == (0, 0, 0)
    assert parent.sites_checked >= 2
    found: Counter[tuple[Op, str]] = Counter()
    for trace in (parent, child):
        verify(trace.path)
    with TraceReader(parent.path) as reader:
        tree = reader.stacks()
        assert tree is not None
        assert reader.footer.extra["depth"] == 64
        paths = [" ".join(path[: path.index("main")]) if "main" in path else "" for path in paths_of(tree)]
        for chunk, site in reader.sited(frees=True):
            found.update((Op(op), paths[number]) for op, number in zip(chunk.op.tolist(), site.tolist(), strict=True))
    of = {(op, path): count for (op, path), count in found.items() if path}
    assert of == {
        (Op.FREE, "by_free"): 1,
        (Op.FREE, "to_nothing"): 1,
        (Op.REALLOC, "moved"): 1,
        (Op.MALLOC, "again"): 9000,
        (Op.FREE, "by_free again"): 9000,
    }
    assert (child.foreign_frees, child.stacks) == (2, 0)


@pytest.mark.parametrize("frees", [False, True])
def test_only_who_asks_for_them_gets_them(frees: bool, tmp_path: Path) -> None:
    [trace] = record(["ls"], tmp_path / "t.hst", stacks=8, frees=frees, stdout=DEVNULL).traces
    with TraceReader(trace.path) as reader:
        assert reader.header.has_free_sites == frees
    table = scoped_table(group_sites(Path(trace.path)))
    assert (table is not None) == frees


def test_frees_alone_have_no_stacks(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "t.hst"
    mistake(call("record", "-o", out, "--frees", "--", "true"), "heapsmith: --frees: expected --stacks too")
    other = "--frees: is of a command that is started; expected --pid PID without it"
    mistake(call("record", "-o", out, "--frees", "--stacks", "--pid", "1"), other)
