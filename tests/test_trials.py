"""`heapsmith ab` and `bisect`: predictions beside measurements, and the change that makes the difference."""

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from traces import random_trace

from heapsmith.codegen.toolchain import build_tool
from heapsmith.model import policy
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.design.toml import write_design
from heapsmith.model.errors import BadInput
from heapsmith.model.search import space
from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.trial.ab import Trial, agreement
from heapsmith.tools.trial.bisect import Bisected
from heapsmith.tools.trial.changes import contenders, differing, moved, walk

Call = Callable[..., Answer]

BASE = load("lean")
PLANTED = {
    "front": {"kind": "linked_list", "capacity": 1, "max_bytes": 2048},
    "run_cache_bytes": 65536,
    "superslab_bytes": 524288,
    "huge_bytes": 16777216,
    "thp": "never",
}
"""Of these five changes one matters to small blocks that come and go: each call of a list of one block misses."""


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A design that differs from BASE in five fields."""
    path = tmp_path_factory.mktemp("designs") / "planted.toml"
    write_design(path, changed(BASE, "planted", PLANTED))
    return path


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace of small blocks alone, one thread."""
    return random_trace(tmp_path_factory.mktemp("traces") / "small.hst", 4000, 1, max_size=200)


@pytest.mark.thorough
def test_bisect_names_the_planted_change(call: Call, planted: Path, small: Path) -> None:
    words = ["lean", planted, "--trace", small, "--by", "instructions", "--measure", "none"]
    answer = call("bisect", *words, "--json")
    (found,) = msgspec.convert(json.loads(answer.out), list[Bisected])
    assert answer.status == 0
    whole, cause = found.last_value - found.first_value, found.steps[found.cause]
    assert (len(found.steps), [path.partition(".")[0] for path in cause.paths]) == (5, ["front"])
    assert cause.change > 0.95 * whole > 0
    assert cause.alone == pytest.approx(cause.change, rel=0.05)
    assert cause.last == pytest.approx(cause.change, rel=0.05)
    assert sum(step.change for step in found.steps) == pytest.approx(whole)
    assert found.steps[-1].value == found.last_value
    shown = call("bisect", *words).out
    assert "\nfront.capacity (16 to 1) makes 9" in shown or "\nfront.capacity (16 to 1) makes 10" in shown


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_the_instructions_of_the_step_that_matters_are_counted(call: Call, planted: Path, small: Path) -> None:
    """By valgrind, so exactly: as many more as predicted, to a tenth."""
    answer = call("bisect", "lean", planted, "--trace", small, "--by", "instructions", "--json")
    (found,) = msgspec.convert(json.loads(answer.out), list[Bisected])
    assert [step.measured is not None for step in found.steps].count(True) == 1
    cause = found.steps[found.cause]
    assert cause.measured
    predicted = cause.value / (cause.value - cause.change)
    assert cause.measured.median == pytest.approx(predicted, rel=0.1)


def test_each_step_of_a_walk_is_legal_and_its_end_is_the_other_design() -> None:
    for first, last in (("default", "lean"), ("lean", "hardened"), ("owner", "header"), ("grain8", "hardened")):
        begin, end = load(first), load(last)
        way = walk(begin, end)
        assert [step.design.why_not_valid() for step in way] == [None] * len(way)
        assert way[-1].design.hash() == end.hash()
        steps = [path for step in way for path in step.paths]
        assert len(steps) == len(set(steps))
        assert {*differing(begin, end)} >= {*way[0].paths}


def test_fields_go_together_where_one_alone_is_not_legal() -> None:
    begin, end = load("default"), load("lean")
    assert begin.sizes[-1] > end.slab_bytes
    slabs = moved(begin, end, ["slab_bytes"])
    assert (slabs.refusal, slabs.paths) == (None, ["slab_bytes", "sizes"])
    back = moved(end, begin, ["sizes"])  # the refusal names the sizes alone
    assert (back.refusal, back.paths) == (None, ["sizes", "slab_bytes"])


def test_changes_alone_and_all_together() -> None:
    found = contenders([BASE], ["front.capacity=4", "thp=never"])
    assert [words for words, _ in found] == ["front.capacity = 4", "thp = never", "all together"]
    assert [differing(BASE, design) for _, design in found] == [
        ["front.capacity"],
        ["thp"],
        ["thp", "front.capacity"],
    ]
    assert len({design.name for _, design in found} | {BASE.name}) == 4
    twins = contenders([BASE, msgspec.structs.replace(load("bare"), name=BASE.name)], [])
    assert twins[0][1].name != BASE.name


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ([], "expected a second design, or a change PATH=VALUE"),
        (["front.capacity"], "front.capacity: expected PATH=VALUE, such as front.capacity=32"),
        (["front.capacity=4", "front.capacity=5"], "changes: a field is named twice"),
        (["thp=system"], "thp = system: makes the same choices as a design before it"),
        (["front.capacty=4"], "lean-1: front: unknown field 'capacty'"),
        (["slab_bytes=5000"], "lean-1: slab_bytes: 5000 is not usable"),
    ],
)
def test_changes_that_are_none(changes: list[str], complaint: str) -> None:
    with pytest.raises(BadInput) as error:
        contenders([BASE], changes)
    assert str(error.value).startswith(complaint)


def test_what_agrees() -> None:
    more = Ratio(1.2, 1.1, 1.3)
    said = [agreement(predicted, more, 5) for predicted in (1.2, 1.303, 1.05, 1.4, 0.9)]
    assert said == ["yes", "yes", "direction", "direction", "NO"]
    assert agreement(1.05, Ratio(1.0, 0.98, 1.02), 5) == "NO"
    assert agreement(1.2, more, 4) == agreement(1.2, None, 5) == "undecided"


THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
static void *life(void *count)
{
    void *held[64] = {0};
    for (long i = 0; i < (long)count; i++) {
        free(held[i % 64]);
        held[i % 64] = malloc(16 + i * 37 % 300);
    }
    for (int i = 0; i < 64; i++)
        free(held[i]);
    return NULL;
}
int main(void)
{
    pthread_t other;
    pthread_create(&other, NULL, life, (void *)4000);
    life((void *)5000);
    pthread_join(other, NULL);
    return puts("done") < 0;
}
"""


@pytest.fixture(scope="module")
def threaded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("program") / "threads.c"
    source.write_text(THREADS)
    return build_tool("trial_threads", [source], ["-O1", "-fno-builtin", "-pthread"])


def figures(found: Trial) -> list[list[str]]:
    return [[one.figure for one in change.figures] for change in found.changes]


@pytest.mark.thorough
def test_two_designs_on_a_program_with_threads(call: Call, planted: Path, threaded: Path) -> None:
    answer = call("ab", "lean", planted, "--rounds", "5", "--json", "--", threaded)
    (found,) = msgspec.convert(json.loads(answer.out), list[Trial])
    assert answer.status == 0
    assert (found.subject, found.base, found.ran and found.ran.rounds) == (str(threaded), "lean", 5)
    assert figures(found) == [["instructions", "CPU", "peak RSS", "average RSS", "page faults"]]
    rows = {one.figure: one for one in found.changes[0].figures}
    assert rows["instructions"].predicted > 1.5
    assert (rows["instructions"].measured, rows["instructions"].agree) == (None, "undecided")
    for name in ("CPU", "peak RSS", "average RSS", "page faults"):
        measured = rows[name].measured
        assert measured
        assert measured.low is not None
        assert measured.high is not None
        assert rows[name].agree == agreement(rows[name].predicted, measured, 5)
    assert rows["CPU"].predicted > 1
    base, other = found.predicted
    assert rows["instructions"].predicted == pytest.approx(other.instructions / base.instructions)


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="needs valgrind")
def test_changes_on_a_trace_with_counted_instructions(call: Call, small: Path) -> None:
    words = ["lean", "--change", "front.capacity=1", "--trace", small]
    answer = call("ab", *words, "--rounds", "2", "--instructions", "--json")
    (found,) = msgspec.convert(json.loads(answer.out), list[Trial])
    assert [one.change for one in found.changes] == ["front.capacity = 1"]
    for one in found.changes:
        counted = one.figures[0].measured
        assert counted
        assert counted.median == pytest.approx(one.figures[0].predicted, rel=0.1)
        assert {row.agree for row in one.figures[1:]} == {"undecided"}  # two rounds decide nothing
    answer = call("ab", *words, "--rounds", "1")
    assert "front.capacity = 1, in parts of lean's; one round" in " ".join(answer.out.split())


def test_another_output_is_told_and_is_the_exit_status(call: Call) -> None:
    script = 'case "$LD_PRELOAD" in *bare*) echo bare ;; *) echo lean ;; esac'
    answer = call("ab", "lean", "bare", "--rounds", "1", "--", "sh", "-c", script)
    assert answer.status == 1
    assert "the output under bare is NOT that under lean" in answer.out


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["ab", "lean", "bare"], "expected a command or traces, and not both"),
        (["ab", "lean", "bare", "--trace", "a.hst", "--", "true"], "expected a command or traces, and not both"),
        (["ab", "lean", "--", "true"], "expected a second design, or a change PATH=VALUE"),
        (["ab", "lean", "lean", "--", "true"], "lean: makes the same choices as a design before it"),
        (["bisect", "lean", "lean", "--measure", "none", "--", "true"], "lean: makes the same choices as lean"),
        (["bisect", "lean", "bare", "--", "no-such-program"], "no-such-program: no such command"),
        (["ab", "lean", "bare", "--trace", "none.hst"], "none.hst: "),
        (["ab", "lean", "bare", "--rounds", "1", "--time", "1s", "--", "true"], "--rounds and --time: expected one"),
    ],
)
def test_mistakes(call: Call, words: list[str], complaint: str) -> None:
    answer = call(*words)
    assert (answer.status, answer.out) == (2, "")
    assert complaint in answer.err
    assert answer.err.count("\n") == 1


def test_a_program_that_a_library_cannot_serve(call: Call, tmp_path: Path) -> None:
    """It is linked statically: nothing reaches it, so there is nothing to compare."""
    source = tmp_path / "still.c"
    source.write_text("int main(void) { return 0; }\n")
    done = subprocess.run(["gcc", "-static", "-o", tmp_path / "still", source], capture_output=True, check=False)
    if done.returncode:
        pytest.skip("gcc links nothing statically here")
    answer = call("ab", "lean", "bare", "--rounds", "1", "--", tmp_path / "still")
    assert answer.status in (1, 2)
    assert (answer.out, answer.err.count("\n")) == ("", 1)


PAGE = Path(__file__).resolve().parent.parent / "docs" / "tuning.md"


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("perl") is None, reason="needs perl")
def test_the_commands_of_the_page_run(tmp_path: Path, shell_environment: dict[str, str]) -> None:
    section = PAGE.read_text().partition("\n## Which change does it\n")[2]
    (block,) = re.findall(r"^```sh\n(.*?)^```$", section, re.M | re.S)
    command = ["bash", "-eu", "-o", "pipefail", "-c", block]
    done = subprocess.run(command, cwd=tmp_path, env=shell_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "front.capacity = 32, in parts of default's" in done.stdout
    assert "of the allocator, predicted" in done.stdout
    assert "/* hit0 " in (tmp_path / "c" / "fast.c").read_text()


def test_the_page_names_what_the_search_leaves_out() -> None:
    """Each field that stays, and each row whose worth the price does not know: by its name or that of its field."""
    table = PAGE.read_text().partition("\n## The space\n")[2].partition("\n**Classes.**")[0]
    named = set(
        re.findall(r"`(\w+)[` ]", " ".join(line.split(" | ")[0] for line in table.splitlines() if line[:1] == "|"))
    )
    unpriced = [(field, row.NAME) for field, rows in policy.TABLES.items() for row in rows if hasattr(row, "UNPRICED")]
    assert [(field, row) for field, row in unpriced if not {field, row} & named] == []
    assert named >= (space.FIXED | space.PAGES | space.PROCESSORS)
    assert len(unpriced) > 5


def test_designs_stay_as_they_are() -> None:
    design: Design = load("lean")
    walk(design, load("default"))
    assert design == load("lean")
