"""The search: what it returns is legal, within its bounds, no worse than the base, and written with its reasons."""

from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from covering import soon
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_trace, trace_of

from heapsmith.model.design.design import BUILTIN, ClassFront, Design, load, parse
from heapsmith.model.design.plan import make_plan
from heapsmith.model.design.toml import Reason, design_text, write_design
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.hardening import off as hardening_off
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.search.capacities import CapacityPass
from heapsmith.model.search.draft import SMALL_LIMITS, drafts, request_weights
from heapsmith.model.search.outcome import SLOW_SLACK, Outcome, best, by_slab, least_cached
from heapsmith.model.search.size_classes import PRICE_UNIT, STEP, Histogram
from heapsmith.model.search.tune import RUN_CACHES, Tuned, tune
from heapsmith.model.trace.reader import Chunk, Op, TraceReader, TraceWriter

DEFAULT = load("default")


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
    """Four threads, three of which come and go, that hold about 20,000 blocks of up to 3,000 bytes."""
    path = tmp_path_factory.mktemp("tune") / "random.hst"
    return random_trace(path, 120_000, 4, threads=4, max_size=3000, cross_thread=0.2, live=20_000)


def idle_bytes_bound(tuned: Tuned, trace: Path) -> int:
    """The most bytes that the fronts of the tuned classes can hold idle in the trace."""
    plan = make_plan(tuned.design)
    with TraceReader(trace) as reader:
        one = CapacityPass(plan, reader.footer.threads, reader.footer.threads, reader.footer.max_blocks)
        for chunk in reader:
            one.feed(chunk)
    return sum(
        int(np.minimum(row.front.capacity + row.front.list_capacity, curve.most + row.front.refill - 1).sum())
        * row.size
        for row, curve in zip(plan.classes, one.curves(), strict=True)
        if row.front.capacity
    )


@pytest.mark.parametrize("name", soon(BASES, ("default", "header", "owner_list", "none")))
def test_tuned_is_legal_better_and_within_its_bounds(name: str, trace: Path) -> None:
    base = BASES[name]
    tuned = tune(trace, base=base, max_overhead=0.1, max_classes=40, name="made")
    design = tuned.design
    assert design.why_not_valid() is None
    assert not tuned.kept_base
    assert len(design.sizes) <= 40
    assert design.sizes[-1] >= min(base.sizes[-1], *SMALL_LIMITS, design.slab_bytes - 8) - STEP
    for field in ("grain", "classifier", "slab_choice", "empties", "remote", "superslab_bytes", "huge_bytes", "front"):
        assert getattr(design, field) == getattr(base, field)
    before, after = simulate(trace, [base, design]).rows
    assert (before.committed_peak, after.committed_peak) == (tuned.before.committed_peak, tuned.after.committed_peak)
    assert after.committed_peak < before.committed_peak
    assert tuned.after.slow_share <= tuned.before.slow_share + SLOW_SLACK
    assert design.run_cache_bytes in {*RUN_CACHES, base.run_cache_bytes}
    assert idle_bytes_bound(tuned, trace) <= 0.1 * tuned.before.peak_live_bytes
    kinds = {base.front_of(size).__struct_config__.tag for size in base.sizes} | {front_none.NAME}
    assert {design.front_of(size).__struct_config__.tag for size in design.sizes} <= kinds


def test_reasons_name_every_choice_and_survive_in_the_file(trace: Path, tmp_path: Path) -> None:
    tuned = tune(trace, base=DEFAULT, name="made")
    fields = [reason.field for reason in tuned.reasons]
    expected = ["design", "budget", "slab_bytes"]
    expected += ["run_cache_bytes"] if tuned.design.run_cache_bytes != DEFAULT.run_cache_bytes else []
    expected += ["sizes"]
    expected += [f"sizes[{index}]" for index in range(len(tuned.design.sizes))]
    expected += [f"class_front[{index}]" for index in range(len(tuned.design.class_front))]
    assert fields == expected
    write_design(tmp_path / "made.toml", tuned.design, tuned.reasons)
    assert load(str(tmp_path / "made.toml")) == tuned.design
    text = " ".join((tmp_path / "made.toml").read_text().replace("#", " ").split())
    for reason in tuned.reasons:
        assert " ".join(reason.why.split()) in text
    assert str(trace.parent) not in text
    assert msgspec.json.decode(msgspec.json.encode(tuned), type=Tuned) == tuned


def test_a_size_the_base_wastes_gets_its_class(tmp_path: Path) -> None:
    tuned = tune(trace_of(tmp_path / "t.hst", [520] * 20_000), base=DEFAULT, name="made")
    assert {528} == {size for size in tuned.design.sizes if 520 <= size < 640}
    assert tuned.after.committed_peak < 0.86 * tuned.before.committed_peak  # 528 for 640


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
    tuned = tune(tmp_path / "t.hst", base=base, name="made")
    front = tuned.design.front_of(64)
    assert isinstance(front, front_array_stack.Params)
    assert 40 <= front.capacity < 160
    assert tuned.after.slow_operations < tuned.before.slow_operations / 10


def test_tiny_objects_get_a_class_of_8_bytes_where_the_grain_allows(tmp_path: Path) -> None:
    path = trace_of(tmp_path / "t.hst", [8] * 20_000 + [24] * 5000)
    sizes = {name: tune(path, base=BASES[name], name="made").design.sizes for name in ("default", "grain_8")}
    assert sizes["default"][:2] == [16, 32]
    assert sizes["grain_8"][0] == 8
    assert all(size % 16 == 0 for size in sizes["grain_8"][1:])


def test_the_base_stays_where_nothing_is_better(tmp_path: Path) -> None:
    path = trace_of(tmp_path / "t.hst", [100_000] * 50, freed=True)
    tuned = tune(path, base=DEFAULT, name="kept")
    assert tuned.kept_base
    assert tuned.design == base_with(name="kept")
    assert tuned.before == tuned.after
    assert [reason.field for reason in tuned.reasons] == ["design"]
    assert "no tuned design is better" in tuned.reasons[0].why


def some_histogram() -> Histogram:
    """700 live blocks of 144 bytes, 300 of 64, 400 of 160 at another time, and allocations of 64 and 1600."""
    live, most, allocations = (np.zeros(2050, np.int64) for _ in range(3))
    live[[4, 9]], most[[4, 9, 10]], allocations[[4, 100]] = (300, 700), (300, 700, 400), (10, 30)
    return Histogram(live, live * 16, most, allocations, 120_000, 1, 10**9)


def test_every_slab_size_keeps_the_same_bytes_and_serves_what_it_can() -> None:
    base = base_with(release=release_budget.Params(slab_budget_bytes=6 * 65_536), thp="never")
    made = [draft.design for draft in drafts(base, some_histogram(), 48, "made")]
    found = {(design.slab_bytes, design.sizes[-1]) for design in made}
    slabs = (4096, 8192, 16_384, 32_768, 65_536)
    assert found == {(slab, min(slab, limit)) for slab in slabs for limit in (32_768, 2048, 8192)}
    assert len(made) == len(found)
    for design in made:
        assert (design.release, design.thp) == (base.release, base.thp)
        assert {64, 144} <= set(design.sizes)


def an_outcome(committed: int, slow: float, slab_bytes: int = 65_536) -> Outcome:
    """What commits so many MiB and spends such a share of its time on slow operations."""
    return Outcome(
        name="one",
        hash="0",
        classes=10,
        slab_bytes=slab_bytes,
        largest_block=1024,
        run_cache_bytes=0,
        committed_peak=committed << 20,
        peak_live_bytes=1 << 20,
        internal_fragmentation=0.1,
        external_fragmentation=0.1,
        operations=1000,
        slow_operations=int(1000 * slow),
        slow_share=slow,
        superslabs=1,
        acquires=1,
        run_span_bytes=0,
        run_ns=10**9,
    )


def test_memory_and_time_are_weighed() -> None:
    before = an_outcome(9, 0.01)
    assert before.cost(before) == pytest.approx(1.02)
    assert an_outcome(4, 0.03).cost(before) == pytest.approx(0.56)
    lean, quick, slow, fat = (an_outcome(*of) for of in ((6, 0.025), (8, 0.01), (2, 0.031), (10, 0.0)))
    assert best(before, [fat, slow, quick, lean]) == 3
    assert best(before, [fat, slow, quick]) == 2
    assert best(before, [fat, slow]) is None
    assert best(before, [before]) is None
    cached = msgspec.structs.replace(lean, run_cache_bytes=65_536)
    near = [an_outcome(6, 0.031), an_outcome(6, 0.029), an_outcome(6, 0.027), cached]
    assert (best(before, near), least_cached(before, near), least_cached(before, [fat])) == (3, 2, None)
    other = an_outcome(5, 0.0, 4096)
    assert by_slab(before, [fat, lean, other, slow]) == [other, lean]
    assert by_slab(before, [fat, slow]) == [slow]


def test_a_run_cache_that_earns_nothing_goes(tmp_path: Path) -> None:
    """Of runs that are freed once and never asked for again a cache keeps pages idle."""
    sizes = [40_000] * 6
    events = [(Op.MALLOC, block, size) for block, size in enumerate(sizes)]
    events += [(Op.FREE, block, 0) for block in range(6)]
    events += [(Op.MALLOC, block, 520) for block in [*reversed(range(6)), *range(6, 9000)]]
    ops, blocks, asked = zip(*events, strict=True)
    zeros = [0] * len(events)
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of(ops, zeros, blocks, asked, zeros, range(len(events))))
    tuned = tune(tmp_path / "t.hst", base=DEFAULT, name="made")
    assert tuned.design.run_cache_bytes == 0
    assert "run_cache_bytes" in [reason.field for reason in tuned.reasons]


def test_more_classes_only_while_they_pay() -> None:
    few, many = some_histogram(), some_histogram()
    many.live[33:40] = 5000
    counts = [len(drafts(DEFAULT, histogram, 48, "made")[0].design.sizes) for histogram in (few, many)]
    assert counts[0] < counts[1] <= 48
    draft = drafts(DEFAULT, many, 48, "made")[0]
    assert draft.next_saves < draft.class_bytes <= draft.last_saves


def test_weights_are_whole_and_in_proportion() -> None:
    largest_price = PRICE_UNIT * 65_536
    weight, unit = request_weights(some_histogram(), 128, largest_price)
    assert int(weight.sum()) * largest_price < 1 << 62
    assert weight[0] == 0
    assert all(weight[1:] > 0)
    assert weight[9] / unit == pytest.approx(0.7 * 700 + 0.25 * 700, rel=1e-4)
    assert weight[10] / unit == pytest.approx(0.25 * 400, rel=1e-4)
    assert weight[100] / unit == pytest.approx(0.05 * 1000 * 30 / 40, rel=1e-4)


def test_progress_tells_all_four_passes(trace: Path) -> None:
    told: list[tuple[str, int, int]] = []
    tune(trace, base=DEFAULT, name="made", progress=lambda *of: told.append(of))
    stages = list(dict.fromkeys(stage for stage, _, _ in told))
    assert len(stages) == 4
    for stage in stages:
        done = [(count, whole) for name, count, whole in told if name == stage]
        assert done == sorted(done)
        assert done[-1] == (120_000, 120_000)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"max_overhead": 0.0}, "max overhead: 0.0 .* expected above 0"),
        ({"max_overhead": float("nan")}, "max overhead: nan"),
        ({"max_overhead": 1.5}, "max overhead: 1.5"),
        ({"max_classes": 0}, "max classes: 0 .* expected 1 to 250"),
        ({"max_classes": 251}, "max classes: 251"),
        ({"max_classes": 3}, r"max classes: 3 is too few for sizes up to \d+; expected at least \d+"),
        ({"name": "a/b"}, "name: 'a/b'"),
        ({"base": base_with(sizes=[17])}, r"sizes\[0\]: 17"),
    ],
)
def test_arguments_out_of_range(wrong: dict[str, Any], message: str, trace: Path) -> None:
    with pytest.raises(BadInput, match=message):
        tune(trace, **{"base": DEFAULT, "name": "made", **wrong})


def test_nothing_to_tune_for(tmp_path: Path) -> None:
    with TraceWriter(tmp_path / "t.hst", command=["test"], source="test") as writer:
        writer.append(Chunk.of([Op.THREAD_START], [0], [0], [0], [0], [0]))
    with pytest.raises(BadInput, match=r"t\.hst: no allocation to tune for"):
        tune(tmp_path / "t.hst", base=DEFAULT, name="made")
    with pytest.raises(BadInput, match=r"absent\.hst"):
        tune(tmp_path / "absent.hst", base=DEFAULT, name="made")


words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
levels = st.integers(1, 300)
fronts = st.one_of(
    st.just(front_none.Params()),
    st.builds(front_array_stack.Params, capacity=levels, max_bytes=st.integers(1, 1 << 40)),
    st.builds(front_linked_list.Params, capacity=st.just(300), refill=st.none() | levels, flush=st.none() | levels),
    st.builds(front_fifo_ring.Params, capacity=levels),
    st.builds(front_two_level.Params, capacity=levels, list_capacity=levels),
)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """Legal designs with any text, fronts and numbers."""
    sizes = sorted(draw(st.sets(st.integers(2, 256).map(lambda step: 16 * step), min_size=1, max_size=20)))
    split = draw(st.integers(0, len(sizes)))
    rows = [ClassFront(sizes[:split], draw(fronts)), ClassFront(sizes[split:], draw(fronts))]
    design = Design(
        draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}", fullmatch=True)),
        sizes,
        draw(words),
        classifier=draw(st.sampled_from(["slab_map", "header"])),
        empties=draw(st.sampled_from(["shared", "dedicated"])),
        slab_bytes=draw(st.sampled_from([8192, 65_536])),
        front=draw(fronts),
        class_front=[row for row in rows if row.sizes],
        release=draw(st.builds(release_keep.Params) | st.builds(release_budget.Params, st.integers(0, 99))),
        hardening=draw(st.just(hardening_off.Params()) | st.builds(hardening_full.Params, st.integers(0, 99))),
        thp=draw(st.sampled_from(["system", "always", "grown", "never"])),
        foreign=draw(st.sampled_from(["leak", "next"])),
        run_cache_bytes=draw(st.sampled_from([0, 4096])),
    )
    assert design.why_not_valid() is None
    return design


@settings(max_examples=40, deadline=None)
@given(designs(), st.dictionaries(st.sampled_from(["design", "sizes", "sizes[0]", "class_front[0]", "name"]), words))
def test_toml_reads_back_to_an_equal_design(design: Design, whys: dict[str, str]) -> None:
    text = design_text(design, [Reason(field, "", why) for field, why in whys.items()])
    assert parse(text, "text") == design


def test_builtin_designs_read_back() -> None:
    for path in BUILTIN.glob("*.toml"):
        design = load(path.stem)
        assert parse(design_text(design), path.stem) == design


def test_unwritable_design(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for target in (Path("/dev/null/d.toml"), tmp_path / "folder.toml"):
        with pytest.raises(BadInput, match=f"{target.name}: cannot be written: "):
            write_design(target, DEFAULT)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.toml"]


def test_a_failed_write_leaves_the_old_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "d.toml"
    write_design(target, DEFAULT)
    old = target.read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput, match="No space left"):
        write_design(target, base_with(name="other"))
    assert target.read_text() == old
    assert [path.name for path in tmp_path.iterdir()] == ["d.toml"]
