"""Sampling "ready": nothing until samples are asked for, then the samples of the page; switched while threads run."""

import json
import re
import subprocess
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest
from lives import run as lives
from loaded import checked_library
from sanitized import ADDRESS_UNDEFINED, build_sanitized, run_sanitized
from test_sampling import OFTEN, SEED, threaded_trace

from heapsmith.bench.programs.instructions import FORMS, per_operation
from heapsmith.codegen.built import library_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.policy.front.linked_list import Params as LinkedList
from heapsmith.model.policy.sampling.ready import COSTS, Params
from heapsmith.model.predict.simulate import simulate

HOT = ("malloc", "malloc_above", "free")


def ready(base: str = "sampling-ready", **fields: Any) -> Design:
    name = f"{base}-{'on' if fields.get('on') else 'off'}"
    return msgspec.structs.replace(load(base), name=name, sampling=Params(**fields))


def machine_code(design: Design, functions: Sequence[str] = HOT) -> dict[str, list[str]]:
    """The instructions of the hit paths, without the places of what they lead to."""
    found: dict[str, list[str]] = {}
    for function in functions:
        command = ["objdump", "-d", "--no-show-raw-insn", f"--disassemble={function}", str(library_of(design))]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = re.findall(r"^ +[0-9a-f]+:\t(.*\S)", said, re.MULTILINE)
        place = r"0x[0-9a-f]+\(%rip\)|\b[0-9a-f]{4,}(?= <)|# [0-9a-f]+|(?<=<_GLOBAL_OFFSET_TABLE_)\+0x[0-9a-f]+"
        plain = [re.sub(place, "", line) for line in lines]
        found[function] = [line.replace("_watched>", ">") for line in plain]
    return found


@pytest.mark.thorough
@pytest.mark.parametrize("base", ["sampling-ready", "default"])
def test_the_hit_paths_are_those_of_a_library_without_samples(base: str) -> None:
    """Each instruction, its registers and its offsets in the heap; where the linker put the rest is not compared."""
    without = machine_code(msgspec.structs.replace(load(base), name="without", sampling=None))
    assert machine_code(ready(base)) == without
    assert all(len(lines) > 10 for lines in without.values())


def test_operator_new_is_malloc_without_a_call() -> None:
    """All that malloc does before it leaves for a slow path, and at most five instructions around it."""
    code = machine_code(load("default"), ("_Znwm", "malloc"))
    hits = {name: [line.split()[0] for line in lines[: at_return(lines) + 1]] for name, lines in code.items()}
    assert "call" not in hits["_Znwm"]
    assert not Counter(hits["malloc"]) - Counter(hits["_Znwm"])
    assert len(hits["_Znwm"]) <= len(hits["malloc"]) + 5


def at_return(lines: Sequence[str]) -> int:
    """Where the first return is, with which the hit path ends."""
    return next(number for number, line in enumerate(lines) if line.startswith("ret"))


@pytest.mark.thorough
def test_another_hit_path_is_seen() -> None:
    counted = msgspec.structs.replace(load("sampled"), name="counted")
    without = msgspec.structs.replace(load("sampled"), name="without", sampling=None)
    assert machine_code(counted)["malloc"] != machine_code(without)["malloc"]
    assert machine_code(counted)["free"] == machine_code(without)["free"]


@pytest.mark.thorough
def test_library_and_model_take_the_same_samples_with_threads(tmp_path: Path) -> None:
    trace = threaded_trace(tmp_path)
    for base in ("sampling-ready", "default"):
        report = verify(ready(base, on=True, mean_bytes=OFTEN, seed=SEED), [trace], audit=False)
        assert [run.difference for run in report.runs] == [None, None], base
    rows = simulate(trace, [ready(), ready(on=True, mean_bytes=3000)]).rows
    assert [row.counters.totals["sampled"] > 0 for row in rows] == [False, True]


def small(sizes: list[int], *, on: bool) -> Design:
    """A design of which a few steps reach the slow paths."""
    fields = {"sizes": sizes, "slab_bytes": 4096, "superslab_bytes": 8192, "huge_bytes": 65_536}
    design = msgspec.structs.replace(load("sampling-ready"), name=f"ready-{sizes[0]}", **fields)
    front = msgspec.structs.replace(design.front, capacity=5)
    design = msgspec.structs.replace(design, front=front, sampling=Params(on=on, mean_bytes=4000))
    assert design.why_not_valid() is None
    assert make_plan(design).direct_limit < design.sizes[-1]
    return design


@pytest.mark.parametrize("on", [pytest.param(True, marks=pytest.mark.thorough), False])
def test_step_by_step(on: bool) -> None:
    total = lives(small([32, 64, 1024, 1360, 2048], on=on), examples=6)
    sampled = {total[name] > 0 for name in ("sampled", "sampled_bytes", "sampled_freed")}
    assert sampled == {on}
    assert min(total[name] for name in ("hit0", "push", "refill", "flush", "heaps", "adoptions")) > 0


def test_the_first_class_may_be_a_long_one() -> None:
    """Its stack is parked, as others of classes that are longer than what has a row for each size."""
    design = small([1360, 2048], on=True)
    assert make_plan(design).direct_limit < design.sizes[0]
    total = lives(design, examples=2)
    assert min(total[name] for name in ("sampled", "sampled_freed", "hit0", "push", "flush")) > 0


SWITCHED = """
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
static atomic_int stops;
static atomic_long steps;
static void *work(void *with)
{
    unsigned char *block[64] = { 0 };
    size_t bytes[64] = { 0 };
    unsigned number = (unsigned)(size_t)with;
    for (int step = 0; !atomic_load(&stops); step++) {
        atomic_fetch_add(&steps, 1);
        number = number * 1664525 + 1013904223;
        int at = number >> 26;
        for (size_t byte = 0; byte < bytes[at]; byte += 61)
            if (block[at][byte] != at)
                abort();
        bytes[at] = number >> 8 & (step % 16 == 0 ? 0x3fff : 0x1ff);
        if (step % 3 == 0) {
            free(block[at]);
            block[at] = malloc(bytes[at]);
        } else {
            block[at] = realloc(block[at], bytes[at] + 1);
        }
        memset(block[at], at, bytes[at]);
    }
    for (int at = 0; at < 64; at++)
        free(block[at]);
    return NULL;
}
int main(int count, char **argument)
{
    void (*set)(uint64_t mean) = (void (*)(uint64_t))((char *)dlsym(RTLD_DEFAULT, "malloc") + atol(argument[1]));
    if (count > 2) { /* one thread, whose calls all hit: on for 1,000 pairs, off for 100,000 */
        for (int step = 0; step < 102000; step++) {
            if (step == 1000 || step == 2000)
                set(step == 1000 ? 64 : 0);
            free(malloc(64));
        }
        return 0;
    }
    pthread_t thread[4];
    for (size_t which = 0; which < 4; which++)
        if (pthread_create(&thread[which], NULL, work, (void *)which) != 0)
            return 3;
    for (int switches = 1; switches <= 100; switches++) {
        set(switches % 2 * 2000);
        for (long until = atomic_load(&steps) + 2000; atomic_load(&steps) < until;)
            sched_yield();
    }
    atomic_store(&stops, 1);
    for (size_t which = 0; which < 4; which++)
        pthread_join(thread[which], NULL);
    set(0);
    return 0;
}
"""


def offset_from_malloc(library: Path, function: str) -> int:
    said = subprocess.run(["nm", str(library)], capture_output=True, text=True, check=True).stdout
    at = {name: int(place, 16) for place, name in re.findall(r"^([0-9a-f]+) \w (\w+)$", said, re.MULTILINE)}
    return at[function] - at["malloc"]


def switched(base: str, folder: Path, *words: str) -> dict[str, int]:
    """The counters of SWITCHED under the checked library, which walks the heap in the end."""
    source, built, report = folder / "switched.c", folder / "switched", folder / "stats.json"
    source.write_text(SWITCHED)
    command = ["gcc", "-O1", "-fno-builtin", "-pthread", "-fPIE", "-pie", str(source), "-o", str(built), "-ldl"]
    subprocess.run(command, check=True)
    library = checked_library(load(base))
    environment = {"LD_PRELOAD": str(library), "HEAPSMITH": f"check,stats={report}"}
    offset = str(offset_from_malloc(library, "hs_sampling_set"))
    subprocess.run([str(built), offset, *words], env=environment, check=True, timeout=300)
    found: dict[str, int] = json.loads(report.read_text())["counters"]
    return found


@pytest.mark.parametrize("base", ["sampling-ready", pytest.param("sampled", marks=pytest.mark.thorough)])
def test_samples_are_switched_while_threads_run(base: str, tmp_path: Path) -> None:
    """Each block keeps its bytes."""
    found = switched(base, tmp_path)
    assert found["sampled"] > 100
    assert found["sampled"] - found["sampled_freed"] < 20


def test_a_switch_reaches_a_thread_that_never_misses(tmp_path: Path) -> None:
    found = switched("sampling-ready", tmp_path, "alone")
    assert 300 < found["sampled"] < 1000
    assert found["sampled_freed"] == found["sampled"]


@pytest.mark.thorough
@pytest.mark.slow
def test_what_it_costs_while_samples_are_taken() -> None:
    """A pair of calls in a loop, by callgrind, no request due: the page's figure, and the model's price."""
    off, on = library_of(ready()), library_of(ready(on=True, mean_bytes=1 << 36))
    for form in ("pair-32", "mixed"):
        more = per_operation(FORMS[form], on) - per_operation(FORMS[form], off)
        assert more == pytest.approx(COSTS["sampling.watched"], abs=0.1)
    page = (Path(__file__).resolve().parent.parent / "docs" / "machine-rooms.md").read_text()
    assert f"then a pair of them takes {COSTS['sampling.watched']:.0f} more" in page


@pytest.mark.thorough
def test_samples_under_a_sanitizer(tmp_path: Path) -> None:
    built = build_sanitized(ready(on=True, mean_bytes=500), ADDRESS_UNDEFINED, tmp_path)
    run_sanitized(built, ADDRESS_UNDEFINED, ["--operations", "4000", "--threads", "4"])


@pytest.mark.parametrize(
    ("base", "fields", "words"),
    [
        ("processor", {}, "heaps 'processor'; expected heaps 'thread'"),
        ("hardened", {}, "hardening 'full'; expected hardening 'off'"),
        ("owner", {}, "remote 'owner_list'; expected a store of all heaps"),
        ("header", {}, "classifier 'header'; expected a classifier without headers"),
        ("default", {"dispatch": "class"}, "dispatch 'class'; expected dispatch 'row'"),
        ("default", {"front": LinkedList()}, "a front that is no array stack; expected array stacks of one level"),
        ("learner", {}, "learner 'capacities'; expected learner 'off'"),
        ("rounding", {}, "rounding 'larger'; expected rounding 'off'"),
    ],
)
def test_designs_that_cannot_be_watched_say_why(base: str, fields: dict[str, Any], words: str) -> None:
    refusal = msgspec.structs.replace(load(base), sampling=Params(), **fields).why_not_valid()
    assert refusal is not None
    assert refusal.words == f"sampling: 'ready' cannot go with {words}"
    assert refusal.fields[0] == "sampling"
