"""The search: what it returns is legal, within its limits, better than the base, explained, and repeats exactly."""

import multiprocessing
import os
import signal
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from covering import soon
from traces import random_trace, trace_of

from heapsmith.model.design.design import ClassFront, Design, load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import write_design
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.memory.application import PROGRAM
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.predict import times
from heapsmith.model.predict.ledgers import with_ledgers
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.search import outcome_store
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.choice import SLACK, Limits, scores
from heapsmith.model.search.choice_worth import MARGIN, put_back
from heapsmith.model.search.outcome import OBJECTIVES, Glance, combined, ratios
from heapsmith.model.search.source import Source
from heapsmith.model.search.space import FIXED, PAGES, PROCESSORS
from heapsmith.model.search.tune import Tuned, tune
from heapsmith.model.trace.frames import Samples, Touched
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.tools.report.searched import saved

DEFAULT = load("default")
FEW = Asked(simulations=9, jobs=1)

pytestmark = pytest.mark.usefixtures("own_outcomes")


def base_with(**fields: object) -> Design:
    """The default design with these fields."""
    return msgspec.structs.replace(DEFAULT, **fields)


BASES = {
    "default": DEFAULT,
    "header": base_with(classifier="header"),
    "class_region": base_with(classifier="class_region", empties="dedicated", slab_choice="address_ordered"),
    "owner_list": base_with(remote="owner_list", release=release_keep.Params()),
    "two_level": base_with(front=front_two_level.Params()),
    "fifo_ring": base_with(front=front_fifo_ring.Params(capacity=64), slab_bytes=131_072),
    "none": base_with(front=front_none.Params()),
    "full": base_with(hardening=hardening_full.Params()),
    "full_header": base_with(hardening=hardening_full.Params(), classifier="header", sizes=DEFAULT.sizes[1:]),
    "grain_8": base_with(grain=8, sizes=[8, 16, 32, 48, 64, 128, 256, 1024, 4096, 16_384]),
    "mixed": base_with(class_front=[ClassFront([64, 128], front_linked_list.Params(capacity=40))]),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four threads, three of which come and go, that hold about 4,000 blocks of up to 3,000 bytes."""
    path = tmp_path_factory.mktemp("tune") / "random.hst"
    return random_trace(path, 30_000, 4, threads=4, max_size=3000, cross_thread=0.2, live=4000)


@pytest.fixture(scope="module")
def tuned(trace: Path, own_outcomes: None) -> Tuned:
    """The default design tuned for the trace."""
    return tune(trace, base=DEFAULT, name="made", asked=FEW)


@pytest.mark.parametrize("name", soon(BASES, ("default",)))
def test_tuned_is_legal_better_and_within_its_limits(name: str, trace: Path) -> None:
    base = BASES[name]
    tuned = tune(trace, base=base, name="made", asked=FEW._replace(max_classes=40))
    design = tuned.design
    assert design.why_not_valid() is None
    assert not tuned.kept_base
    assert len(design.sizes) <= 40
    for field in {*FIXED, *PAGES, *PROCESSORS, "grain"}:
        assert getattr(design, field) == getattr(base, field)
    before, after = simulate(trace, [base, design], hardware=load_hardware()).rows
    for row, outcome in ((before, tuned.before), (after, tuned.after)):
        assert row.price is not None
        assert row.touches is not None
        assert outcome.allocator_ns_per_op == row.price.allocator_ns_per_op
        assert outcome.resident_peak == row.touches.resident_peak
        assert outcome.committed_peak == row.committed_peak
    (here,) = tuned.traces
    assert here.ratios["time"] <= SLACK
    assert here.ratios["peak"] <= SLACK
    assert here.ratios["average"] <= SLACK
    assert min(here.ratios[what] for what in ("time", "peak", "average")) < 0.99
    assert here.regret is not None
    assert here.regret >= 0


@pytest.mark.thorough
def test_no_member_of_the_front_beats_another_and_the_choice_is_one(tuned: Tuned) -> None:
    points = np.array([[one.ratios[name] for name in OBJECTIVES] for one in tuned.front])
    for index, (one, point) in enumerate(zip(tuned.front, points, strict=True)):
        margin = 1 - 2 * MARGIN if one.hash == tuned.design.hash() else 1
        assert not (np.delete(points, index, axis=0) <= point * margin).all(axis=1).any()
    assert tuned.design.hash() in {one.hash for one in tuned.front}
    scores = [one.score for one in tuned.front]
    assert scores == sorted(scores)


def test_reasons_name_every_choice_and_survive_in_the_file(trace: Path, tuned: Tuned, tmp_path: Path) -> None:
    fields = [reason.field for reason in tuned.reasons]
    expected = ["sizes", *(f"sizes[{index}]" for index in range(len(tuned.design.sizes)))]
    expected += [f"class_front[{index}]" for index in range(len(tuned.design.class_front))]
    assert fields[0] == "design"
    assert fields[1 + len(tuned.worth) :] == expected
    differing = {
        name for name in DEFAULT.__struct_fields__ if getattr(tuned.design, name) != getattr(DEFAULT, name)
    } - {"name", "about", "slab_span_bytes"}
    assert differing <= {name for one in tuned.worth for name in one.fields}
    write_design(tmp_path / "made.toml", tuned.design, tuned.reasons)
    assert load(str(tmp_path / "made.toml")) == tuned.design
    text = " ".join((tmp_path / "made.toml").read_text().replace("#", " ").split())
    for reason in tuned.reasons:
        assert " ".join(reason.why.split()) in text
    assert str(trace.parent) not in text
    assert msgspec.json.decode(msgspec.json.encode(tuned), type=Tuned) == tuned


def test_each_choice_is_worth_what_the_design_without_it_loses(trace: Path, tuned: Tuned) -> None:
    assert tuned.worth
    for one, (fields, without) in zip(tuned.worth, put_back(tuned.design, DEFAULT), strict=True):
        (row,) = simulate(trace, [without], hardware=load_hardware()).rows
        assert row.price is not None
        assert one.fields == fields
        assert one.without["time"] == pytest.approx(row.price.allocator_ns_per_op / tuned.after.allocator_ns_per_op)
    for one in tuned.worth:
        assert (
            not one.without or scores(np.array([[*one.without.values()]]), np.array([*tuned.weights.values()]))[0] > 1
        )


def test_ledgers_are_those_of_simulate_and_their_table_has_what_differs(trace: Path, tuned: Tuned) -> None:
    designs = [DEFAULT, tuned.design]
    found = with_ledgers(simulate(trace, designs), [make_plan(one) for one in designs], None, PROGRAM)
    assert tuned.traces[0].ledgers == tuple(found.ledgers)
    (table,) = saved(tuned)
    base, choice = (one.peak.bytes for one in found.ledgers)
    rows = {row[0]: [int(cell.replace(",", "")) for cell in row[1:]] for row in table.rows}
    assert rows["committed"][:3] == [base.committed, choice.committed, base.committed - choice.committed]
    assert "header and canary" not in rows
    assert all(row[0] != row[1] or row[3] != row[4] for row in rows.values())
    for column in (2, 5):
        assert sum(row[column] for row in rows.values()) == 2 * rows["committed"][column] != 0
    same = msgspec.structs.replace(tuned.traces[0], ledgers=(found.ledgers[0],) * 2)
    assert list(saved(msgspec.structs.replace(tuned, traces=[same]))) == []


@pytest.mark.big
def test_the_number_of_simulations_decides_the_result(trace: Path, tuned: Tuned) -> None:
    other = tune(trace, base=DEFAULT, name="made", asked=FEW._replace(jobs=2))
    assert (other.design, other.front, other.worth) == (tuned.design, tuned.front, tuned.worth)
    assert other.spent.simulations == tuned.spent.simulations


def test_a_second_search_keeps_the_outcomes_of_the_first(tmp_path: Path) -> None:
    """Two searches at the same time, neither of which knows the other's outcomes."""
    source = Source(trace_of(tmp_path / "second.hst", [64] * 10))
    first, second = (outcome_store.Store(source, load_hardware(), resume=False) for _ in range(2))
    first.held.glances |= {"one": Glance((1.0,), {}), "both": Glance((1.0,), {})}
    second.held.glances |= {"two": Glance((2.0,), {}), "both": Glance((2.0,), {})}
    first.write()
    second.write()
    held = outcome_store.Store(source, load_hardware(), resume=True).held
    assert {name: glance.figures[0] for name, glance in held.glances.items()} == {"one": 1.0, "two": 2.0, "both": 2.0}


@pytest.mark.big
def test_favour_and_limits_decide_among_the_front(trace: Path) -> None:
    def found(**asked: Any) -> Tuned:
        return tune(trace, base=DEFAULT, name="made", asked=FEW._replace(resume=True, **asked))

    quick, lean = found(favour="time"), found(favour="memory")
    assert quick.after.allocator_ns_per_op <= lean.after.allocator_ns_per_op
    assert quick.after.resident_peak >= lean.after.resident_peak
    limit = lean.traces[0].ratios["time"] * 1.001
    assert found(favour="memory", limits=Limits(time=limit)).traces[0].ratios["time"] <= limit
    most = int(lean.after.resident_peak * 1.02)
    assert found(favour="time", limits=Limits(rss_bytes=most)).after.resident_peak <= most
    with pytest.raises(CheckFailed, match=r"no design within the limits: of \d+ simulated .* fastest takes 0\.\d+x"):
        found(limits=Limits(time=0.01))


@pytest.mark.big
def test_p999_is_that_of_simulate_and_bounds_every_trace(trace: Path, tmp_path: Path) -> None:
    asked = FEW._replace(resume=True, latency=True, simulations=16)
    found = tune(trace, base=DEFAULT, name="made", asked=asked, hold_out=[trace])
    for one in found.traces:
        assert one.p999_ns is not None
        for design, p999_ns in zip((DEFAULT, found.design), one.p999_ns, strict=True):
            table = simulate(trace, [design], hardware=load_hardware())
            timed = times.timed(table, [make_plan(design)], load_hardware(), PROGRAM)
            assert p999_ns == timed.rows[0].timings[0].latency.p999
    known = [one.p999_ns for one in found.front if one.p999_ns is not None]
    assert len(known) == len(found.front) > 1
    assert any(one.ratios[name] >= found.front[0].ratios[name] for one in found.front[1:] for name in one.ratios)
    assert found.traces[0].p999_ns is not None
    least = min(known)
    assert least < found.traces[0].p999_ns[0]
    bounded = tune(trace, base=DEFAULT, name="made", asked=asked._replace(limits=Limits(p999_ns=least)))
    assert bounded.traces[0].p999_ns is not None
    assert bounded.traces[0].p999_ns[1] <= least
    with pytest.raises(CheckFailed, match=r"no design within the limits: .*; the least p99\.9 is \d+ ns"):
        tune(trace, base=DEFAULT, name="made", asked=asked._replace(limits=Limits(p999_ns=1)))


@pytest.mark.thorough
def test_several_traces_count_by_weight_and_held_out_ones_are_marked(trace: Path, tmp_path: Path) -> None:
    other = trace_of(tmp_path / "other.hst", [520] * 6000, freed=True)
    seen = [(trace, 1.0), (other, 3.0)]
    tuned = tune(seen, base=DEFAULT, name="made", asked=FEW, hold_out=[trace_of(tmp_path / "held.hst", [520] * 3000)])
    assert [(one.trace, one.weight, one.held_out) for one in tuned.traces] == [
        ("random.hst", 1.0, False),
        ("other.hst", 3.0, False),
        ("held.hst", 1.0, True),
    ]
    mine = next(one for one in tuned.front if one.hash == tuned.design.hash())
    for name in OBJECTIVES:
        mean = tuned.traces[0].ratios[name] ** 0.25 * tuned.traces[1].ratios[name] ** 0.75
        assert mine.ratios[name] == pytest.approx(mean)
    assert tuned.traces[2].ratios["peak"] < 1
    assert tuned.traces[2].regret is None
    for one in tuned.traces:
        assert one.ledgers is not None
        peaks = [found.peak.bytes.committed for found in one.ledgers]
        assert peaks == [one.before.committed_peak, one.after.committed_peak]
    assert all(one.regret is not None and one.regret >= 0 for one in tuned.traces[:2])


@pytest.mark.thorough
def test_a_size_the_base_wastes_gets_its_class(tmp_path: Path) -> None:
    tuned = tune(trace_of(tmp_path / "t.hst", [520] * 20_000), base=DEFAULT, name="made", asked=FEW)
    assert {528} == {size for size in tuned.design.sizes if 520 <= size < 640}
    assert tuned.after.committed_peak < 0.86 * tuned.before.committed_peak  # 528 for 640


@pytest.mark.thorough
def test_capacity_follows_what_is_freed_and_asked_again(tmp_path: Path) -> None:
    """Of many blocks of 64, forty are freed and asked for again, over and over: 40 is what a front needs."""
    events = [(Op.MALLOC, block, 64) for block in range(5000)]
    for _ in range(200):
        events += [(Op.FREE, block, 0) for block in range(40)] + [(Op.MALLOC, block, 64) for block in range(40)]
    ops, blocks, sizes = zip(*events, strict=True)
    zeros = [0] * len(events)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, sizes, zeros, range(len(events))))
    base = base_with(front=front_array_stack.Params(capacity=8))
    tuned = tune(tmp_path / "t.hst", base=base, name="made", asked=FEW)
    front = tuned.design.front_of(64)
    assert getattr(front, "capacity", 0) + getattr(front, "list_capacity", 0) >= 40
    assert tuned.after.allocator_ns_per_op < 0.8 * tuned.before.allocator_ns_per_op


@pytest.mark.big
def test_tiny_objects_get_a_class_of_8_bytes_where_the_grain_allows(tmp_path: Path) -> None:
    path = trace_of(tmp_path / "t.hst", [8] * 20_000 + [24] * 5000)
    sizes = {name: tune(path, base=BASES[name], name="made", asked=FEW).design.sizes for name in ("default", "grain_8")}
    assert sizes["default"][:2] == [16, 32]
    assert sizes["grain_8"][0] == 8
    assert all(size % 16 == 0 for size in sizes["grain_8"][1:])


@pytest.mark.big
def test_huge_pages_only_where_the_program_is_said_to_touch_all(tmp_path: Path) -> None:
    """Twenty runs of 1 MB lie on huge pages, whose first touches cost less, if they are said to be touched."""
    sizes = [1_000_000] * 20
    path = trace_of(tmp_path / "t.hst", sizes, freed=True, event_ns=250_000)
    limits = Limits(rss=1.2)
    plain, dense = (
        tune(
            path,
            base=DEFAULT,
            name="made",
            asked=FEW._replace(huge_pages=huge, favour="time", simulations=25, limits=limits),
        )
        for huge in (False, True)
    )
    touched = [Touched(1 << 19, 20, 4880, 4880)]
    for rows, told in ((touched, True), ([], False), ([Touched(1 << 23, 1, 2048, 2048)], False)):
        samples = Samples(rows, [], 0, [])
        assert Source(trace_of(tmp_path / "s.hst", sizes, freed=True, samples=samples)).tells_touched == told
    for field in PAGES:
        assert getattr(plain.design, field) == getattr(DEFAULT, field)
    assert any(getattr(dense.design, field) != getattr(DEFAULT, field) for field in PAGES)
    assert dense.after.allocator_ns_per_op < 0.7 * plain.after.allocator_ns_per_op


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_overhead": 0.0}, "max overhead: 0.0 .* expected above 0"),
        ({"max_overhead": float("nan")}, "max overhead: nan"),
        ({"max_overhead": 1.5}, "max overhead: 1.5"),
        ({"max_classes": 0}, "max classes: 0 .* expected 1 to 250"),
        ({"max_classes": 251}, "max classes: 251"),
        ({"max_classes": 3}, r"max classes: 3 is too few for sizes up to \d+; expected at least \d+"),
        ({"simulations": 1}, "simulations: 1; expected 2 or more"),
        ({"seconds": 0.0}, r"budget: 0\.0 s; expected above 0"),
    ],
)
def test_arguments_out_of_range(wrong: dict[str, Any], message: str, trace: Path) -> None:
    with pytest.raises(BadInput, match=message):
        tune(trace, base=DEFAULT, name="made", asked=FEW._replace(**wrong))


def test_bases_and_machines_that_serve_no_search(trace: Path) -> None:
    with pytest.raises(BadInput, match="name: 'a/b'"):
        tune(trace, base=DEFAULT, name="a/b")
    with pytest.raises(BadInput, match=r"sizes\[0\]: 17"):
        tune(trace, base=base_with(sizes=[17]), name="made")
    bare = msgspec.structs.replace(load_hardware(), costs={})
    with pytest.raises(BadInput, match="default: this machine has no costs"):
        tune(trace, base=DEFAULT, name="made", hardware=bare)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("stage", "after", "jobs"),
    [
        ("pricing designs", 3, 2),
        pytest.param("what each choice is worth", 2, 2, marks=pytest.mark.big),
        ("counting bytes", 1, 1),
        pytest.param("held out", 1, 2, marks=pytest.mark.big),
    ],
)
def test_ctrl_c_ends_a_patient_search_with_the_best_so_far(
    stage: str, after: int, jobs: int, trace: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The terminal interrupts all processes at once."""
    told = 0

    def press(now: str, done: int, total: int) -> None:
        nonlocal told
        told += now == stage
        if told == after:
            told += 1
            for process in multiprocessing.active_children():
                os.kill(process.pid or 0, signal.SIGINT)
            os.kill(os.getpid(), signal.SIGINT)

    asked = FEW._replace(patient=True, jobs=jobs, simulations=2 if stage == "counting bytes" else FEW.simulations)
    tuned = tune(trace, base=DEFAULT, name="made", asked=asked, hold_out=[trace], progress=press)
    assert tuned.interrupted
    assert tuned.design.why_not_valid() is None
    assert stage != "held out" or tuned.worth
    assert (tuned.traces[0].ledgers is None) == (stage == "counting bytes")
    assert [one.held_out for one in tuned.traces] == ([False] if stage == "held out" else [False, True])
    if stage == "pricing designs":
        told = 0
        with pytest.raises(KeyboardInterrupt):
            tune(trace, base=DEFAULT, name="made", asked=asked._replace(patient=False), progress=press)
    assert "Traceback" not in capfd.readouterr().err
    assert not multiprocessing.active_children()


def test_a_killed_worker_is_one_line(trace: Path) -> None:
    def kill(stage: str, done: int, total: int) -> None:
        for process in multiprocessing.active_children():
            process.kill()

    with pytest.raises(Missing, match="worker process was killed"):
        tune(trace, base=DEFAULT, name="made", asked=FEW._replace(jobs=2), progress=kill)


def test_bytes_bound_every_trace_and_factors_their_mean(tuned: Tuned) -> None:
    """The second trace takes too much, although the mean over both is within the mean of the bounds."""
    base = [msgspec.structs.replace(tuned.before, resident_peak=peak) for peak in (200 << 20, 150 << 20)]
    after = [msgspec.structs.replace(tuned.after, resident_peak=peak) for peak in (20 << 20, 110 << 20)]
    limits = Limits(rss_bytes=100 << 20)
    mean = combined([ratios(one.figures(), then.figures()) for one, then in zip(after, base, strict=True)], [1.0, 1.0])
    most = limits.ratios(base, [1.0, 1.0])
    assert mean[1] < most[1] == pytest.approx((101 * 101 / 201 / 151) ** 0.5)
    assert not limits.allow_bytes(after)
    assert limits.allow_bytes([after[0], msgspec.structs.replace(after[1], resident_peak=100 << 20)])
    assert Limits(rss=0.5).allow_bytes(after)
