"""The limit that a heap keeps away from, by hand from docs/machine-rooms.md, 'release', and in a control group."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from loaded import unchecked_library
from preloaded import program as tool
from preloaded import start
from program import HUGE, NONE, RUN, Program, plain_and_compiled
from traces import trace_of

from heapsmith.model.design.design import Design, load
from heapsmith.model.design.toml import write_design
from heapsmith.model.policy.huge_cache import delayed as huge_cache_delayed
from heapsmith.model.policy.release.budget import Params, why_not_valid
from heapsmith.tools.common.preload import preloadable

Call = Callable[..., Answer]
PAGE, MIB = 4096, 1 << 20
GROUPS = {Path("/sys/fs/cgroup/memory"): "memory.limit_in_bytes", Path("/sys/fs/cgroup"): "memory.max"}
KEEPING = Params(slab_budget_bytes=1 << 40, run_budget_bytes=1 << 40, most_budget_bytes=1 << 40)
"""Release budgets that no program exceeds."""


def near(percent: int = 75, limit: int = 0) -> Params:
    """The same, but near a limit."""
    return msgspec.structs.replace(KEEPING, limit_percent=percent, limit_bytes=limit)


@plain_and_compiled
def test_slabs_go_back_beyond_the_mark(compiled: bool) -> None:
    program = Program(
        compiled, [4096], front=NONE, release=near(limit=8 * PAGE)
    )  # a block is a slab; the mark is 6 pages
    program.malloc("a b c d e", PAGE)
    program.free("a b c")
    assert program.totals("releases", "committed") == (0, 5 * PAGE)
    assert program.malloc("f", 3 * PAGE) == RUN  # 8 pages: the oldest slabs, a's and b's, go
    assert program.totals("releases", "released_bytes", "committed") == (2, 2 * PAGE, 6 * PAGE)
    program.malloc("g", 2 * PAGE)  # 8 again: c's goes, and there is no more
    assert program.totals("releases", "committed") == (3, 7 * PAGE)
    program.free("d")  # near: the budget counts as 0
    assert program.totals("releases", "committed") == (4, 6 * PAGE)
    program.free("e")
    assert program.totals("releases", "committed") == (4, 6 * PAGE)
    program.malloc("h", PAGE)  # e's slab has its page
    assert program.totals("committed") == (6 * PAGE,)


@plain_and_compiled
def test_an_allocation_that_misses_looks_too(compiled: bool) -> None:
    program = Program(
        compiled, [2048], front=NONE, release=near(limit=4 * PAGE), run_cache_bytes=0
    )  # the mark is 3 pages
    program.malloc("a", 2 * PAGE)
    program.malloc("b", 2 * PAGE)
    assert program.totals("releases", "committed") == (0, 4 * PAGE)  # nothing is empty
    program.free("a")  # near
    assert program.totals("releases", "committed") == (1, 2 * PAGE)
    program.malloc("c d", 2048)
    program.free("c d")  # one slab, 3 pages in all
    program.malloc("e", PAGE)
    assert program.totals("releases", "committed") == (2, 3 * PAGE)


@plain_and_compiled
def test_what_waits_serves_before_a_heap_has_a_new_peak(compiled: bool) -> None:
    release = msgspec.structs.replace(KEEPING, peak_percent=100)
    program = Program(compiled, [4096], front=NONE, release=release, run_cache_bytes=0)  # a block is a slab
    program.malloc("a b c d e", PAGE)  # e's miss finds 4 pages, and nothing waits
    assert program.simulator.state.peak_left == 4 * PAGE
    program.free("a")  # 5 pages are beyond the peak: the budget counts as 0
    assert program.totals("releases", "committed") == (1, 4 * PAGE)
    program.free("b c d")  # these wait
    assert program.totals("releases", "committed") == (1, 4 * PAGE)
    assert program.malloc("f", 2 * PAGE) == RUN  # 6 pages: the oldest slabs, b's and c's, go
    assert program.totals("releases", "committed") == (3, 4 * PAGE)
    program.malloc("g h", PAGE)  # d's slab has its page; c's is needed again, and four times that counts for the peak
    assert program.simulator.state.peak_left == 8 * PAGE
    program.free("f")  # 5 pages: the run waits
    assert program.totals("releases", "committed") == (3, 5 * PAGE)
    program.malloc("i j", PAGE)  # b's slab and a's: each is needed again, and the peak is 16 pages
    assert program.totals("releases", "committed") == (3, 7 * PAGE)
    program.malloc("k l m n o p q r s t u", PAGE)  # u's miss finds 17 pages: the run goes
    assert program.totals("releases", "committed") == (4, 16 * PAGE)


@plain_and_compiled
def test_a_heap_nears_its_peak_at_a_share_of_it(compiled: bool) -> None:
    release = msgspec.structs.replace(KEEPING, peak_percent=50)
    program = Program(compiled, [4096], front=NONE, release=release)
    program.malloc("a b c d e", PAGE)
    program.free("a b c")  # 4 pages was the peak: 2 may stay
    assert program.totals("releases", "committed") == (3, 2 * PAGE)
    program.free("d")
    assert program.totals("releases", "committed") == (3, 2 * PAGE)


def test_a_share_of_the_peak_is_in_hundredths() -> None:
    assert "peak_percent: 101" in str(why_not_valid(Params(peak_percent=101)))


@plain_and_compiled
def test_caches_of_runs_and_mappings_go_too(compiled: bool) -> None:
    cache = huge_cache_delayed.Params(kept_bytes=100 * PAGE, delay=30, slack_percent=0)
    release = near(limit=100 * PAGE)  # the mark is 75 pages; huge beyond 16
    program = Program(compiled, [16], front=NONE, release=release, huge_cache=cache, run_cache_bytes=1 << 20)
    program.malloc("heap", 16)
    program.malloc("a b", 10 * PAGE)
    program.malloc("c", 30 * PAGE)
    program.free("a b c")  # all wait
    assert program.totals("run_spill", "huge_unmap", "committed") == (0, 0, 51 * PAGE)
    assert program.malloc("d", 31 * PAGE) == HUGE + 1  # 82 pages: a's run suffices
    assert program.totals("run_spill", "releases", "huge_unmap", "committed") == (1, 1, 0, 72 * PAGE)
    program.realloc("d", 60 * PAGE)  # 101 pages: b's run and c's mapping
    assert program.totals("run_spill", "releases", "huge_unmap", "committed") == (2, 2, 1, 61 * PAGE)
    program.malloc("e", 20 * PAGE)
    program.free("e")  # 81 pages: no mapping waits near the limit
    assert program.totals("huge_unmap", "committed") == (2, 61 * PAGE)


def test_what_makes_no_limit() -> None:
    wrong = {
        "limit_percent: 101": (101, 0),
        "limit_bytes: 100 is": (5, 100),
        "limit_bytes: expected limit_percent": (0, MIB),
    }
    for reason, (percent, limit) in wrong.items():
        said = msgspec.structs.replace(load("default"), release=near(percent, limit)).why_not_valid()
        assert str(said).startswith(f"release.{reason}")


def test_the_option(call: Call, tmp_path: Path) -> None:
    """A simulation under several limits: the lower, the more goes back."""
    trace = trace_of(tmp_path / "t.hst", [100_000] * 40, freed=True)
    file = tmp_path / "near.toml"
    write_design(file, design(50), [])
    gone = []
    for limit in (0, 4 * MIB, MIB):
        words = ["simulate", trace, "--design", file, "--json", *(["--limit", limit] if limit else [])]
        gone.append(json.loads(call(*words).out)["rows"][0]["counters"]["totals"]["released_bytes"])
    assert gone[0] == 0 < gone[1] < gone[2]
    answer = call("simulate", trace, "--design", "keep", "--limit", MIB)
    assert answer == Answer(2, "", "heapsmith: --limit: expected a design with release.limit_percent\n")


def design(percent: int) -> Design:
    """A design that keeps all pages, or keeps away from the system's limit."""
    return msgspec.structs.replace(load("default"), name=f"keeping-{percent}", release=near(percent), unmapping=None)


def test_a_limit_in_the_environment(tmp_path: Path) -> None:
    """It counts in place of the system's; 0 is none, and a wrong one is told."""
    said = {}
    for limit in ("0", str(40 * MIB), "much"):
        counts = tmp_path / limit
        environment = {"HEAPSMITH": f"limit={limit},stats={counts}"}
        done = start([tool("run_caches"), 30], unchecked_library(design(75)), environment=environment)
        assert (done.returncode, done.stdout) == (0, "served\n")
        said[limit] = done.stderr
        total = json.loads(counts.read_text())["counters"]
        assert (total["committed_peak"] < 50 * MIB) == (limit == str(40 * MIB))
    assert said == {"0": "", str(40 * MIB): "", "much": 'heapsmith: HEAPSMITH: bad value in "limit=much"\n'}


@pytest.fixture
def group() -> Iterator[Path]:
    """A control group with a limit of 100 MiB."""
    for root, name in GROUPS.items():
        made = root / f"heapsmith-test-{os.getpid()}"
        try:
            made.mkdir()
            (made / name).write_text(str(100 * MIB))
        except OSError:
            with suppress(OSError):
                made.rmdir()
            continue
        yield made
        made.rmdir()
        return
    pytest.skip("no control group with a limit on memory can be made here")


def test_a_program_whose_caches_do_not_fit_lives(group: Path) -> None:
    """Without the limit in the design the system kills it."""
    statuses = []
    for percent in (0, 80):
        library = preloadable(unchecked_library(design(percent)))
        script = 'echo $$ > "$0/cgroup.procs" && LD_PRELOAD="$1" exec "$2" 64'
        words = ["sh", "-c", script, str(group), str(library), str(tool("run_caches"))]
        done = subprocess.run(words, check=False, capture_output=True, text=True, timeout=300)
        statuses.append((done.returncode, done.stdout))
    assert statuses == [(-signal.SIGKILL, ""), (0, "served\n")]
