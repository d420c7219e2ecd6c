"""Synthetic traces: valid, of the length asked for, the same for the same seed, and like their original to designs."""

import itertools
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from conftest import Answer
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_trace

from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.predict.trace_likeness import FIGURES, LikenessTable, checked_synth, likeness
from heapsmith.model.trace.events import BIRTHS, DEATHS, Chunk, Op, join
from heapsmith.model.trace.reader import TraceReader, TraceWriter, verify
from heapsmith.model.trace.synth.fit import Blocks, Bound, LivesFit, Mix, Phase, PhasesFit, Row
from heapsmith.model.trace.synth.fit_file import load_fit, save_fit
from heapsmith.model.trace.synth.learn import fit_trace
from heapsmith.model.trace.synth.ranks import enter, fresh, grown, has_room, leave, place_of, rank_behind
from heapsmith.model.trace.synth.steps import around, described, rank_chosen
from heapsmith.model.trace.synth.synthesise import synthesise

DESIGNS = ("default", "lean", "owner", "two-level")


def events_of(trace: Path) -> Chunk:
    """All events of a trace."""
    with TraceReader(trace) as reader:
        return join(list(reader))


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with all operations, threads that end, blocks of one thread freed by another."""
    path = tmp_path_factory.mktemp("synth") / "mixed.hst"
    return random_trace(path, 6000, 8, 4, max_size=20_000, cross_thread=0.2, live=300)


@pytest.fixture(scope="module")
def fit(mixed: Path) -> PhasesFit:
    return fit_trace(mixed)


@pytest.mark.thorough
@pytest.mark.parametrize("events", [1, 777, 6000, 15_001])
def test_a_synthetic_trace_is_valid_and_as_long_as_asked(fit: PhasesFit, tmp_path: Path, events: int) -> None:
    footer = synthesise(fit, tmp_path / "out.hst", events=events)
    assert footer.events == verify(tmp_path / "out.hst").events == events
    with TraceReader(tmp_path / "out.hst") as reader:
        assert (reader.header.command, reader.header.source) == ([], "synthetic")


def test_seeds_reproduce_and_differ(fit: PhasesFit, tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        synthesise(fit, tmp_path / name, events=9000, seed=seed)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert not np.array_equal(events_of(tmp_path / "a").block, events_of(tmp_path / "c").block)


def test_a_fit_comes_back_from_its_file(fit: PhasesFit, tmp_path: Path) -> None:
    save_fit(tmp_path / "fit.json", fit)
    assert load_fit(tmp_path / "fit.json") == fit
    small = PhasesFit(9, fit.steps[:3], [Phase([Row(2, 1, -1, 0, -1, 0)], [Bound(0, -1, 2)], [(0, 2)])], [(0, 5)], [1])
    save_fit(tmp_path / "fit.toml", small)
    assert load_fit(tmp_path / "fit.toml") == small


def test_what_programs_do_is_kept(mixed: Path, fit: PhasesFit, tmp_path: Path) -> None:
    """As many events of each operation, thread, size and alignment, and as many frees by other threads."""
    synthesise(fit, tmp_path / "out.hst")
    old, new = events_of(mixed), events_of(tmp_path / "out.hst")
    assert old.op.size == new.op.size
    for name in ("op", "size", "align_log2"):
        a, b = np.sort(getattr(old, name)), np.sort(getattr(new, name))
        assert np.mean(a != b) < 0.01, name
    assert np.abs(np.bincount(old.thread) - np.sort(np.bincount(new.thread))[::-1][: old.thread.max() + 1]).sum() < 6000
    assert abs(foreign(old) - foreign(new)) <= 0.03 * foreign(old)
    exits = new.thread[new.op == Op.THREAD_EXIT]
    assert len(exits) == len(set(exits.tolist())) == np.count_nonzero(old.op == Op.THREAD_EXIT)


def foreign(chunk: Chunk) -> int:
    """The frees by another thread than that of the birth."""
    born: dict[int, int] = {}
    found = 0
    for op, thread, block in zip(chunk.op.tolist(), chunk.thread.tolist(), chunk.block.tolist(), strict=True):
        if op in BIRTHS:
            born[block] = thread
        elif op in DEATHS:
            found += born[block] != thread
    return found


def program(path: Path, seed: int) -> Path:
    """A trace of a program with phases: a table that grows, requests with lists of many sizes, the table freed."""
    random = np.random.default_rng(seed)
    rows: list[tuple[int, int, int]] = []
    dead: list[int] = []
    fresh_number = itertools.count()

    def birth(size: int) -> int:
        block = dead.pop() if dead else next(fresh_number)
        rows.append((Op.MALLOC, block, size))
        return block

    def death(block: int) -> None:
        rows.append((Op.FREE, block, 0))
        dead.append(block)

    table: list[int] = []
    for _ in range(300):
        table.append(birth(48))
        request = [birth(int(size)) for size in random.choice([16, 24, 40, 120, 700], random.integers(1, 40))]
        for block in request if random.random() < 0.5 else request[::-1]:
            death(block)
        if len(table) % 50 == 0:
            rows.append((Op.REALLOC, table[0], 1000 * len(table)))
    for block in table:
        death(block)
    op, block_numbers, size = zip(*rows, strict=True)
    with TraceWriter(path, command=[], source="test") as writer:
        writer.append(Chunk.of(op, [0] * len(op), block_numbers, size, [0] * len(op), range(len(op))))
    return path


def assert_alike(table: LikenessTable, least: float = 100) -> None:
    """No figure differs by 3 %; figures below `least` may by 3 % of it."""
    assert {row.figure for row in table.rows} == set(FIGURES)
    for row in table.rows:
        assert abs(row.synthetic - row.original) <= 0.03 * max(row.original, least), row


def test_designs_cannot_tell_it_from_the_original(tmp_path: Path) -> None:
    trace = program(tmp_path / "program.hst", 4)
    found = checked_synth(trace, tmp_path / "out.hst", designs=[load(name) for name in DESIGNS], seed=2)
    assert found.likeness is not None
    assert_alike(found.likeness)
    other = likeness(trace, program(tmp_path / "other.hst", 5), [load("lean")])
    with pytest.raises(AssertionError):  # two runs with other requests are not as like
        assert_alike(other)


@pytest.mark.big
@pytest.mark.parametrize(
    "command",
    [
        [
            "env",
            "PYTHONMALLOC=malloc",
            sys.executable,
            "-S",
            "-c",
            "import json; json.dumps([{str(i): i} for i in range(3000)])",
        ],
        ["perl", "-e", "my %h; $h{$_ % 500} .= 'x' x ($_ % 90) for 1..20000"],
        ["sh", "-c", "for i in 1 2 3 4 5 6 7 8; do x=$x$i; done"],
    ],
)
def test_designs_cannot_tell_it_from_a_real_program(
    call: Callable[..., Answer], tmp_path: Path, command: list[str]
) -> None:
    assert call("record", "--only", "-o", tmp_path / "real.hst", "--", *command).status == 0
    answer = call("trace", "synth", "--like", tmp_path / "real.hst", "-o", tmp_path / "out.hst", "--json")
    assert_alike(msgspec.convert(json.loads(answer.out)["likeness"], LikenessTable))


@pytest.mark.big
@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32),
    st.integers(20, 3000),
    st.integers(1, 5),
    st.sampled_from([1, 40, 5000, 3_000_000]),
    st.floats(0.01, 4),
)
def test_of_any_trace(
    tmp_path_factory: pytest.TempPathFactory, seed: int, events: int, threads: int, max_size: int, longer: float
) -> None:
    """The writer refuses an event that breaks a rule, so whatever is written is valid."""
    folder = tmp_path_factory.mktemp("any")
    random_trace(folder / "in.hst", events, seed, threads, max_size=max_size, cross_thread=0.3, live=50)
    wanted = max(1, int(events * longer))
    assert synthesise(fit_trace(folder / "in.hst"), folder / "out.hst", events=wanted, seed=seed).events == wanted
    assert verify(folder / "out.hst").events == wanted


@given(st.integers(1, 10**6), st.data())
def test_a_step_tells_its_block(live: int, data: st.DataObject) -> None:
    """Where the distance is exact the block is found again; else one not more than half as far or twice as far."""
    rank, last = data.draw(st.integers(0, live - 1)), data.draw(st.integers(0, live))
    choose, least, most = described(rank, live, last)
    assert least <= most
    found = [rank_chosen(choose, distance, live, last) for distance in (least, most)]
    assert min(found) <= rank <= max(found)
    assert least == most or around(most) == (least, most)


def test_ranks_are_those_of_a_list() -> None:
    random = np.random.default_rng(1)
    pools, lists, free = fresh(3, 4000), [[], [], []], list(range(4000))
    for _ in range(4000):
        pool = int(random.integers(3))
        if lists[pool] and random.random() < 0.45:
            rank = int(random.integers(len(lists[pool])))
            place = place_of(pools, pool, rank)
            block = int(pools.block[pools.first[pool] + place])
            assert lists[pool][-1 - rank] == block
            assert rank_behind(pools, pool, place) == rank
            assert pools.place[block] == place
            leave(pools, pool, place)
            free.append(lists[pool].pop(-1 - rank))
            assert rank_behind(pools, pool, pools.cursor[pool]) == rank
        else:
            while not has_room(pools, pool):
                pools = grown(pools, 0)
            enter(pools, pool, free[-1])
            lists[pool].append(free.pop())
    assert pools.live.tolist() == [len(blocks) for blocks in lists]


def lives_fit(**changes: Any) -> LivesFit:
    """A lesson: small blocks of short lives, few large ones, first of one thread and then of two."""
    small = Blocks(size=16, largest=64, weight=9, lifetime=20)
    large = Blocks(size=5000, weight=1, lifetime=100, shape="constant", freed_by=1)
    forever = Blocks(size=100, weight=0.1)
    return msgspec.structs.replace(LivesFit(20_000, [Mix([small, large]), Mix([small, forever], events=3)]), **changes)


def test_lives_are_those_of_the_distribution(tmp_path: Path) -> None:
    synthesise(lives_fit(), tmp_path / "out.hst", seed=5)
    assert verify(tmp_path / "out.hst").events == 20_000
    chunk = events_of(tmp_path / "out.hst")
    sizes = chunk.size[chunk.op == Op.MALLOC]
    assert set(sizes.tolist()) == {*range(16, 65), 100, 5000}
    large = np.flatnonzero(chunk.size == 5000)
    assert large.max() < 5100  # in the first phase alone, a quarter of the events
    assert 0.08 < large.size / np.count_nonzero(chunk.op[:5000] == Op.MALLOC) < 0.12
    births = np.cumsum(chunk.op == Op.MALLOC)
    ends = {
        int(block): i for i, block in reversed(list(enumerate(chunk.block))) if chunk.op[i] == Op.FREE and i > large[0]
    }
    assert births[ends[int(chunk.block[large[0]])]] - births[large[0]] == 100
    assert chunk.thread[ends[int(chunk.block[large[0]])]] == 1
    assert np.count_nonzero(chunk.op == Op.FREE) > 9500


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"type":"lives","events":0,"phases":[]}', "events"),
        (
            '{"type":"lives","events":9,"phases":[{"blocks":[{"size":9,"largest":3}]}]}',
            r"phases\[0\]\.blocks\[0\]\.largest",
        ),
        *(
            (f'{{"type":"lives","events":9,"phases":[{{"blocks":[{{"size":3,{fields}}}]}}]}}', message)
            for fields, message in (
                ('"align_log2":5', r"blocks\[0\]\.align_log2: expected it for op 'aligned' only"),
                ('"align_log2":0', r">= 1.*blocks\[0\]\.align_log2"),
                ('"op":"aligned"', r"blocks\[0\]\.align_log2: expected 1 or more for op 'aligned'"),
                ('"lifetime":0', r"> 0\.0.*\.lifetime"),
                ('"largest":0', r">= 1.*\.largest"),
                ('"weight":0', r"> 0\.0.*\.weight"),
                ('"freed_by":1', r"blocks\[0\]\.freed_by: expected it with a lifetime only"),
                ('"shape":"constant"', r"blocks\[0\]\.shape: expected it with a lifetime only"),
                ('"thread":-1', r">= 0.*\.thread"),
                ('"colour":1', "unknown field `colour`"),
            )
        ),
        *(
            (f'{{"type":"phases","events":9,"steps":[{step}],"phases":[{{"marks":[[0,0]]}}],"order":[[0,1]]}}', message)
            for step, message in (
                ('{"op":"malloc","from_size":8}', r"steps\[0\]\.from_size: expected it for realloc, free"),
                ('{"op":"free","align_log2":4}', r"steps\[0\]\.align_log2: expected it for aligned"),
                ('{"op":"free","distance":[2,1]}', r"steps\[0\]\.distance: expected the least first"),
                ('{"op":"free","distance":[-2,1]}', r"steps\[0\]\.distance: expected 0 or more for 'youngest'"),
                ('{"op":"realloc"}', r"steps\[0\]\.size: expected 1 or more"),
            )
        ),
        (
            '{"type":"phases","events":9,"steps":[{"op":"malloc"}],"phases":[{"marks":[[0,7]]}],"order":[[0,1]]}',
            "step 7",
        ),
        *(
            (
                f'{{"type":"phases","events":9,"steps":[{{"op":"{op}"}}],'
                '"phases":[{"marks":[[0,0]]},{"bounds":[[0,0,1],[1,0,1]]}],"order":[[0,1]]}',
                rf"phases\[1\]\.bounds\[{index}\]: names class {index}; expected {expected}",
            )
            for op, index, expected in (("malloc", 1, "0 to 0"), ("thread_start", 0, "no bounds: no step has a block"))
        ),
        ('{"type":"phases","events":9,"steps":[{"op":"malloc"}],"phases":[{}],"order":[[4,1]]}', r"order\[0\]"),
        ('{"type":"other"}', "other.*; a fit has a field `type`, which is 'lives' or 'phases'"),
        ("{", "truncated"),
        ('{"name":"x"}', "a fit has a field `type`"),
    ],
)
def test_a_wrong_fit_is_one_line(call: Callable[..., Answer], tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "fit.json").write_text(text)
    answer = call("trace", "synth", "--like", tmp_path / "fit.json", "-o", tmp_path / "out.hst")
    assert (answer.status, answer.out) == (2, "")
    assert re.fullmatch(rf"heapsmith: .*fit\.json: .*{message}.*\n", answer.err)
    assert not (tmp_path / "out.hst").exists()


def test_a_file_of_no_known_format_says_which_are_read(call: Callable[..., Answer], tmp_path: Path) -> None:
    for text in (b"plain text\n", b"", b"\xff\0\1"):
        (tmp_path / "notes.txt").write_bytes(text)
        answer = call("trace", "synth", "--like", tmp_path / "notes.txt", "-o", tmp_path / "out.hst")
        assert (answer.status, answer.out) == (2, "")
        assert "notes.txt: of no known format; expected a trace (.hst), a heap profile of jemalloc" in answer.err
    assert not (tmp_path / "out.hst").exists()


def test_a_fit_of_frees_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "fit.json").write_text(
        '{"type":"phases","events":9,"steps":[{"op":"free"}],"phases":[{"marks":[[0,0]]}],"order":[[0,1]]}'
    )
    with pytest.raises(BadInput, match="none of its steps can be done"):
        synthesise(load_fit(tmp_path / "fit.json"), tmp_path / "out.hst")
    assert not (tmp_path / "out.hst").exists()
