"""Small designs that use every policy and every legal pair of policies: tiny slabs and fronts, so all happens early."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import combinations, product
from operator import ne
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest
from covering_numbers import (
    BUDGETS,
    DELAYS,
    EVEN_STEPS,
    GEOMETRIES,
    NUMBERS,
    OPENINGS,
    POWERS,
    QUARANTINES,
    RUN_CACHES,
    TINY_SIZES,
    TRANSFERS,
)
from covering_values import ELSEWHERE, single_valued

from heapsmith.model import policy
from heapsmith.model.constants import HUGE_PAGE, PAGE
from heapsmith.model.design.design import Design
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.files import cache_dir, write_json
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.shards import nodes as shards_nodes

FACTORS: dict[str, tuple[str, ...]] = {
    "classifier": tuple(policy.names("classifier")),
    "slab_choice": tuple(policy.names("slab_choice")),
    "empties": tuple(policy.names("empties")),
    "remote": tuple(policy.names("remote")),
    "release": tuple(policy.names("release")),
    "hardening": tuple(policy.names("hardening")),
    "thp": tuple(policy.names("thp")),
    "foreign": tuple(policy.names("foreign")),
    "prewarm": tuple(policy.names("prewarm")),
    "size_lookup": tuple(policy.names("size_lookup")),
    "populate": tuple(policy.names("populate")),
    "growth": tuple(policy.names("growth")),
    "rounding": tuple(policy.names("rounding")),
    "block_index": tuple(policy.names("block_index")),
    "freed_blocks": tuple(policy.names("freed_blocks")),
    "counting": tuple(policy.names("counting")),
    "learner": tuple(policy.names("learner")),
    "opening": tuple(policy.names("opening")),
    "huge_cache": tuple(policy.names("huge_cache")),
    "slab_record": tuple(policy.names("slab_record")),
    "pool": tuple(policy.names("pool")),
    "background": tuple(policy.names("background")),
    "ownership": tuple(policy.names("ownership")),
    "unmapping": tuple(policy.names("unmapping")),
    "sampling": tuple(row.NAME for row in policy.TABLES["sampling"] if not row.WATCHES),
    "shards": tuple(row.NAME for row in policy.TABLES["shards"] if row is not shards_nodes),
    "heaps": tuple(policy.names("heaps")),
    "crash": tuple(policy.names("crash")),
    "run_cache_bytes": tuple(policy.names("run_cache_bytes"))[::-1],
    "transfer_bytes": tuple(policy.names("transfer_bytes"))[::-1],
    "transfer_from_heaps": ("1", "2"),
    "dispatch": ("row", "class"),
}
"""The fields of which a design has one row each. Fronts go by class: a design has them all, or array stacks alone."""

CORE = ("classifier", "slab_choice", "empties", "remote", "release")
"""The fields whose rows change the most; the others only go along where every combination is asked for."""


@cache
def covering_designs() -> list[Design]:
    """Designs such that every two rows of different fields that can go together do so in one of them.

    To find them takes seconds, so their rows are kept until a file of the model changes.
    """
    kept = cache_dir() / kept_name(Path(__file__), Path(policy.__file__).resolve().parents[1])
    if not kept.exists():
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_json(kept, _covering())
    return [_design(tuple(rows), index) for index, rows in enumerate(json.loads(kept.read_text()))]


def kept_name(covering: Path, model: Path) -> Path:
    """Where the cache has the rows that this text finds with that model."""
    digest = hashlib.sha256(covering.read_bytes())
    besides = [covering.with_name(f"covering_{name}.py") for name in ("numbers", "values")]
    for file in (*besides, *sorted(model.rglob("*.py"))):
        digest.update(file.read_bytes())
    return Path("tests", f"covering-{digest.hexdigest()[:32]}.json")


def _covering() -> list[tuple[str, ...]]:
    """The rows of each: it begins with a missing pair; then each other field takes the row that adds most pairs."""
    missing = set(_every_pair())
    used: Counter[str] = Counter()
    chosen: list[tuple[str, ...]] = []
    while missing:
        pair = min(missing)
        rows = _completed(pair)
        if rows is None:
            missing.remove(pair)
            continue
        for place, field in enumerate(FACTORS):
            if not any(one.startswith(f"{field}=") for one in pair):
                others = [(*rows[:place], name, *rows[place + 1 :]) for name in FACTORS[field]]
                able = [one for one in others if one == rows or _is_legal(one)]
                rows = max(able, key=lambda one: (len(missing & _pairs(one)), -sum(used[row] for row in one)))
        missing -= _pairs(rows)
        used.update(rows)
        assert (why := _design(rows, len(chosen)).why_not_valid()) is None, why
        chosen.append(rows)
    return _varied(chosen)


def _varied(chosen: list[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The rows, some of them once more at the end, where the numbers are others, until each number has two values."""
    whole = [*chosen]
    for _ in range(len(chosen)):
        lacking = sorted(single_valued([_design(rows, index) for index, rows in enumerate(whole)]) - ELSEWHERE.keys())
        if not lacking:
            return whole
        place, row = _place_of(lacking[0])
        able = [rows for rows in chosen if _design(rows, len(whole)).why_not_valid() is None]
        whole.append(next((rows for rows in able if place is not None and rows[place] == row), able[0]))
    return whole


def _place_of(named: str) -> tuple[int | None, str]:
    """The place of a field in FACTORS and the row, of a field, "field=row" or "field=row.number"."""
    field, _, row = named.partition("=")
    return [*FACTORS].index(field) if field in FACTORS else None, row.partition(".")[0]


def _completed(pair: tuple[str, str]) -> tuple[str, ...] | None:
    """A legal design's rows with these two ("field=row"); of the core's others up to three are not the first."""
    fixed = dict(one.split("=") for one in pair)
    if fixed.get("foreign") == "abort":  # it needs hardening
        fixed.setdefault("hardening", "basic")
    if fixed.get("heaps") == "processor":
        fixed.setdefault("run_cache_bytes", "off")
    if fixed.get("prewarm") == "resident_slabs" or fixed.get("pool") == "one_thread":  # of heaps with superslabs
        fixed.setdefault("ownership", "superslab")
    choices = [
        (fixed[field],) if field in fixed else names if field in CORE else names[:1] for field, names in FACTORS.items()
    ]
    first = [names[0] for names in choices]
    near = (rows for rows in product(*choices) if sum(map(ne, rows, first)) <= 3)
    return next(filter(_is_legal, near), None)


@cache
def _is_legal(rows: tuple[str, ...]) -> bool:
    """Say whether a design may have these rows together."""
    return _design(rows, 0).why_not_valid() is None


def of_each_row(count: int) -> list[Design]:
    """Return the first `count` of `with_every_row`."""
    return with_every_row()[:count]


@cache
def rounding_that_skips() -> Design:
    """Return the covering design that has the most classes of which some larger class lends and another may not."""

    def pairs(design: Design) -> int:
        rows = make_plan(design).classes if design.rounding else []
        larger = [rows[place + 1 : row.numbers["lend_end"]] for place, row in enumerate(rows)]
        may = [
            {bool(one.stride & row.numbers["lend_mask"]) for one in more}
            for row, more in zip(rows, larger, strict=True)
        ]
        return sum(both == {True, False} for both in may)

    return max(covering_designs(), key=pairs)


@cache
def with_every_row(of_processors: bool = True) -> list[Design]:
    """Covering designs that together use every front and row of FACTORS; each adds the most to those before.

    of_processors: whether heaps of processors are among them.
    """
    designs = [design for design in covering_designs() if of_processors or design.heaps is None]
    missing = set().union(*map(_rows, designs))
    chosen: list[Design] = []
    while missing:
        chosen.append(max(designs, key=lambda design: len(missing & _rows(design))))
        missing -= _rows(chosen[-1])
    return chosen


def soon(values: Iterable[object], first: Sequence[object], then: Sequence[object] = ()) -> list[Any]:
    """The values as a test's parameters: those of `first`, those of `make thorough`, and the others' long forms."""
    every = list(values)
    assert all(value in every for value in (*first, *then))

    def marks(value: object) -> list[pytest.MarkDecorator]:
        return [] if value in first else [pytest.mark.thorough if value in then else pytest.mark.big]

    return [pytest.param(value, marks=marks(value)) for value in every]


def _rows(design: Design) -> set[tuple[str, str]]:
    fronts = {("front", str(rule.front.__struct_config__.tag)) for rule in design.class_front}
    fronts |= {("front", row.front.kind) for row in make_plan(design).classes}  # what its levels are in the C
    return fronts | set(zip(FACTORS, rows_of(design), strict=True))


@cache
def all_designs() -> list[Design]:
    """A design for every legal combination of the core's rows; the rows of the other fields take turns."""
    others = [rows for field, rows in FACTORS.items() if field not in CORE]
    cores = product(*(FACTORS[field] for field in CORE))
    designs = [_design((*core, *_turn(others, 7 * (index // 2))), index) for index, core in enumerate(cores)]
    return [design for design in designs if design.why_not_valid() is None]


def _turn(fields: Sequence[Sequence[str]], number: int) -> tuple[str, ...]:
    """Return the numbered element of `product(*fields)`, which has millions."""
    rows: list[str] = []
    for names in reversed(fields):
        number, row = divmod(number, len(names))
        rows.insert(0, names[row])
    return tuple(rows)


def not_learned(plan: Plan) -> set[str]:
    """The counters that may stay 0: of no learner, no helper, no sampling, no unmapping; and a short trace may shrink
    no front, asks no third or fourth level (test_levels.py does), and empties no superslab of many slabs. Behind a
    quarantine misses and flushes seldom share a window.
    """
    quick = plan.numbers.get("learn_often") == 1 and plan.quarantine == 0
    found = {"learned_down"} if quick else {"learned_up", "learned_down"}
    found |= {"hit2", "hit3"}
    found |= {"hit1", "spill", "direct", "adoptions"} if plan.design.heaps else set()
    keeps = plan.design.heaps or (plan.design.ownership and plan.design.prewarm)  # a block of nearly each superslab
    found |= {"retire"} if plan.design.heaps else set()
    found |= set() if plan.design.sampling else {"sampled", "sampled_bytes", "sampled_freed"}
    found |= set() if plan.design.background else {"background_steps", "background_blocks"}
    found |= {"reuse"} if plan.design.freed_blocks == "discarded" else set()
    empties = plan.design.unmapping and plan.slabs_per_superslab <= 8 and not keeps
    used_up = "prewarm_superslabs" in plan.numbers and plan.slabs_per_superslab <= 8
    found |= set() if used_up else {"superslabs_late"}
    found |= {"superslabs_reused"} if plan.regions > 1 else set()  # one of a region waits for its class
    return found if empties else found | {"superslabs_unmapped", "superslabs_reused"}


def rows_of(design: Design) -> tuple[str, ...]:
    """The design's row of each field of FACTORS, in that order."""
    found = msgspec.to_builtins(design)
    return tuple(_row_of(field, found[field]) for field in FACTORS)


def _row_of(field: str, value: Any) -> str:
    """Return the row of a field by what a design file has there."""
    if field in policy.NUMBERED:
        return str(policy.row_of_number(field, value).NAME)
    if isinstance(value, dict):
        return str(value["kind"])
    return str(value or (policy.default(field).NAME if field in policy.TABLES else FACTORS[field][0]))


def pairs_of(design: Design) -> set[tuple[str, str]]:
    """Each two rows that go together in the design, as "field=row"."""
    return _pairs(rows_of(design))


@cache
def legal_pairs() -> frozenset[tuple[str, str]]:
    """Each two rows, as "field=row", that go together in a legal design."""
    return frozenset(pair for pair in _every_pair() if _completed(pair) is not None)


def _every_pair() -> Iterable[tuple[str, str]]:
    for one, other in combinations(FACTORS, 2):
        yield from ((f"{one}={row}", f"{other}={its}") for row in FACTORS[one] for its in FACTORS[other])


def _pairs(rows: tuple[str, ...]) -> set[tuple[str, str]]:
    return set(combinations((f"{field}={row}" for field, row in zip(FACTORS, rows, strict=True)), 2))


def _design(rows: tuple[str, ...], index: int) -> Design:
    """The design of these rows; the index varies geometry, grain, numbers, and which class has which front."""
    chosen: dict[str, Any] = dict(zip(FACTORS, rows, strict=True))
    turn = index + index // 4
    numbers = {**NUMBERS[index % 4], **BUDGETS[turn % 3], "quarantine": QUARANTINES[index // 2 % 3]}
    for field, most in (("run_cache_bytes", RUN_CACHES), ("transfer_bytes", TRANSFERS)):
        chosen[field] = 0 if chosen[field] == "off" else most[turn % 2]
    chosen |= {"transfer_from_heaps": int(chosen["transfer_from_heaps"])}
    chosen["dispatch"] = None if chosen["dispatch"] == "row" else "class"
    of_processors = chosen["heaps"] == "processor"
    if of_processors:
        numbers["quarantine"] = 0
    chosen |= {"run_cache_share_percent": (0, 1)[index % 2], "run_cache_slack_percent": (0, 50, 100)[index // 2 % 3]}
    chosen["run_cache_after"] = (0, 3)[turn % 2]
    chosen |= GEOMETRIES[index // 3 % 3]
    if index % 2 and not policy.row("hardening", chosen["hardening"]).LIVE_MAP:
        chosen["remap_bytes"] = 2 * PAGE
    numbers |= {"share_percent": (0, 25)[turn % 2], "share_slab_bytes": (1, 2)[turn // 2 % 2] * PAGE}
    numbers["share_run_bytes"] = (4, 1)[index // 3 % 2] * PAGE
    numbers["share_wait_bytes"] = numbers["share_percent"] and (0, 8 * PAGE)[index // 3 % 2]
    numbers["share_wait_percent"] = numbers["share_wait_bytes"] and (0, 25)[index // 2 % 2]
    numbers["peak_percent"] = (0, 100, 50)[index // 2 % 3]
    if index % 2 and not chosen["classifier"].endswith("header") and chosen["hardening"] != "full":
        chosen |= {"grain": 8, "sizes": TINY_SIZES}
    if chosen["classifier"].endswith("header") and chosen["hardening"] == "full":
        chosen["sizes"] = [size for size in chosen["sizes"] if size >= 32]
    if chosen["size_lookup"] == "computed":
        chosen["sizes"] = EVEN_STEPS
    numbers |= {"steps": 2, "granularity": chosen.get("grain", 16)}
    numbers |= {"max_bytes": (65_536, 16_384)[index // 2 % 2], "batch_bytes": (8192, 600)[index // 2 % 2]}
    numbers["drain_interval"] = (1, 2, 5)[index // 2 % 3]
    numbers["drain_counts"] = ("flushes", "frees")[turn % 2]
    numbers["drain_most"] = (3, 1, 7)[turn % 3]
    numbers["bytes"] = (1, 40_000, 16_384)[turn % 3]
    numbers |= DELAYS[index // 3 % len(DELAYS)]
    numbers |= {"kept_bytes": (1 << 22, chosen["huge_bytes"] + 60_000)[index % 2], "slack_percent": (0, 50)[index % 2]}
    if chosen["block_index"] == "shift":
        chosen["sizes"] = [size for size in POWERS if size + 32 < chosen["slab_bytes"]]
    numbers["groups"] = [chosen["sizes"][1::3], chosen["sizes"][2:3]]
    numbers |= {"initial_bytes": HUGE_PAGE << index % 3 // 2, "most_bytes": HUGE_PAGE << index % 3}
    numbers |= {"alignment": ("packed", "line")[index % 2], "class_numbers": ("plan", "record")[index // 2 % 2]}
    numbers["pages"] = (4, 1, 16)[turn % 3]
    numbers["share"] = (2, 1, 8)[index % 3]
    numbers["keep"] = (0, 1, 2)[turn % 3]
    numbers["factor"] = (1.4, 1.6, 2.0)[turn % 3]
    numbers |= OPENINGS[turn % 3]
    numbers |= {"window": (5, 3, 4)[turn % 3], "often": (2, 1, 1)[turn % 3], "least": (0.0, 0.5, 0.25)[index % 3]}
    by_page = any(getattr(policy.row(field, chosen[field]), "BY_PAGE", False) for field in ("foreign", "classifier"))
    guards = 0 if by_page else (0, 3)[turn % 2]
    own: dict[str, dict[str, Any]] = {
        "learner": {"most": (3.0, 2.0, 4.0)[turn % 3], "step": (0.5, 1.0, 0.25)[index % 3]},
        "huge_cache": {"delay": (3, 1, 4)[turn % 3]},
        "slab_choice": {"most": 1 + index % 2},
        "sampling": {"mean_bytes": (3000, 700, 9000)[turn % 3], "seed": index, "guards": guards},
        "shards": {"count": (2, 5, 3)[turn % 3], "by": ("thread", "class")[index % 2]},
    }
    threshold = (50, 100, 1)[index % 3]
    numbers |= {"threshold_percent": threshold, "fill_percent": max(threshold, (100, 60)[turn % 2])}
    numbers["lock"] = index % 2 == 1
    numbers["every"] = (1, 7, 3)[turn % 3]
    if not hasattr(policy.row("background", chosen["background"]), "OFF"):
        # for batches of the class with a stack, whichever it is
        chosen["transfer_bytes"] = min(16 * chosen["transfer_bytes"], 65_536)
        numbers |= {"hot": False} | NUMBERS[index % 3]  # that refills fill
    numbers["classes"] = [
        {"sizes": chosen["sizes"][::2], "blocks": 2 + 5 * (index % 3), "slabs": index % 2},
        {"sizes": chosen["sizes"][3:4], "slabs": 2},
    ]
    if not policy.row("slab_record", chosen["slab_record"]).TABLE:
        chosen["superslab_bytes"] = 4 * chosen["slab_bytes"]
    for field in FACTORS.keys() & set(policy.NAMED):
        row = policy.row(field, chosen[field])
        is_word = not hasattr(row, "Params") or (getattr(row, "IS_WORD", False) and index % 2 == 0)
        word = None if hasattr(row, "OFF") else row.NAME
        chosen[field] = word if is_word else _with_numbers(row, numbers | own.get(field, {}))
    if chosen["thp"] in ("always", "grown"):
        chosen["superslab_bytes"] = HUGE_PAGE
        chosen |= {"thp_slabs_from_bytes": HUGE_PAGE, "thp_runs_from_bytes": HUGE_PAGE}
        chosen["thp_block_bytes"] = (None, chosen["sizes"][2])[index % 2]
    needed = ("none", "two_level", *(["array_stack"] if chosen["background"] else []))
    always = [row for row in policy.choosable("front") if row.NAME in needed]
    of = {field: policy.row(field, row) for field, row in zip(FACTORS, rows, strict=True) if field in policy.NAMED}
    slabs_serve = of["remote"].OWNED and hasattr(of["freed_blocks"], "LINKS") and hasattr(of["slab_choice"], "HAS_HOT")
    slabs_serve = slabs_serve and not (of["classifier"].HEADER_BYTES and of["hardening"].TAIL_BYTES)
    others = [row for row in policy.choosable("front") if row not in always and not hasattr(row, "GUARDED")]
    others = [row for row in others if slabs_serve or not hasattr(row, "why_not_with")]
    if of_processors:
        always, others = [front_array_stack], []
    turned = [*always, *(others[(place + index) % len(others)] for place in range(len(others)))]
    fronts = [_with_numbers(row, numbers) for row in turned]
    by_class: list[dict[str, Any]] = []
    for place, size in enumerate(chosen["sizes"]):
        alone = hasattr(turned[place % len(turned)], "why_not_with") and 3 * size > chosen["slab_bytes"] - 16
        by_class.append({"sizes": [size], "front": fronts[0 if alone else place % len(fronts)]})
    small_spans = {"slab_span_bytes": 1 << 28, "run_span_bytes": 1 << 28}
    return msgspec.convert({"name": f"covering-{index}", "class_front": by_class, **chosen, **small_spans}, Design)


def _with_numbers(row: ModuleType, numbers: dict[str, Any]) -> dict[str, Any]:
    """A policy's table as a design file has it, with those of the numbers that it knows."""
    known = {field: numbers[field] for field in row.Params.__struct_fields__ if field in numbers}
    return {"kind": row.NAME, **known}
