"""Tables of a search: the front, the choice on each trace, and what each choice is worth."""

from collections.abc import Iterator

from heapsmith.model.search.choice_worth import Worth
from heapsmith.model.search.findings import Member
from heapsmith.model.search.outcome import OBJECTIVES, Outcome
from heapsmith.model.search.tune import Tuned
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration
from heapsmith.tools.report import ledgers


def tables(found: Tuned) -> Iterator[Words]:
    """All tables of a search."""
    yield front(found)
    yield on_traces(found)
    yield from saved(found)
    if found.worth:
        yield worth(found.worth)
    yield from finalists(found)


def front(found: Tuned) -> Words:
    """The designs of the front that stand for most of it, and the choice, the best score first; --json has all."""
    shown = [one for one in found.front if one.shown]
    timed = any(one.p999_ns is not None for one in shown)
    rows = [
        (
            one.hash + (", chosen" if one.hash == found.design.hash() else ""),
            *(f"{one.ratios[name]:.3f}" for name in OBJECTIVES),
            *((_late(one.p999_ns),) if timed else ()),
            f"{one.score:.3f}",
            _kinds(one),
            f"{len(one.design.sizes)}",
            amount(one.design.slab_bytes),
        )
        for one in shown
    ]
    spent = found.spent
    interrupted = "; interrupted" if found.interrupted else ""
    title = (
        f"{found.design.name}: {len(found.front)} designs that none beats in all, as parts of the base's; of "
        f"{spent.simulations + spent.stored:,} simulated with caches or known from before, {spent.glances:,} looked at "
        f"without, in {spent.seconds:.0f} s{interrupted}{_near(found)}; weights of the score: "
        + ", ".join(f"{name} {weight:.2f}" for name, weight in found.weights.items())
    )
    late = ("p99.9",) if timed else ()
    columns = ("design", *OBJECTIVES, *late, f"score ({found.favour})", "<fronts", "classes", "slab")
    return Words(title, columns, rows)


def _late(p999_ns: float | None) -> str:
    return "-" if p999_ns is None else duration(p999_ns)


def _run_share(outcome: Outcome) -> str:
    share = outcome.run_share()
    return "-" if share is None else f"{share:.1%}"


def _kinds(one: Member) -> str:
    kinds = {str(one.design.front_of(size).__struct_config__.tag) for size in one.design.sizes}
    return ", ".join(sorted(kinds))


def on_traces(found: Tuned) -> Words:
    """The base and the choice on each trace."""
    rows = []
    timed = any(one.p999_ns for one in found.traces)
    waited = found.cores is not None
    for one in found.traces:
        name = one.trace + (", HELD OUT" if one.held_out else "")
        name += f", births: {one.births}" if one.births != "all" else ""
        regret = "-" if one.regret is None else f"{one.regret:+.1%}"
        late = one.p999_ns or (None, None)
        for what, of, p999_ns in (("base", one.before, late[0]), ("tuned", one.after, late[1])):
            rows.append(
                (
                    *(name if what == "base" else "", what, duration(of.allocator_ns_per_op)),
                    *((duration(of.lock_wait_ns_per_op),) if waited else ()),
                    *((_late(p999_ns),) if timed else ()),
                    _run_share(of),
                    *(amount(of.resident_peak), amount(of.resident_average), amount(of.resident_end)),
                    *(
                        amount(of.committed_peak),
                        "-" if one.held_out else f"{one.weight:.3g}",
                        regret if what == "tuned" else "",
                    ),
                )
            )
    columns = (
        *("trace", "<", "time per operation", *((f"waits on {found.cores} cores",) if waited else ())),
        *(*(("p99.9",) if timed else ()), "of the run"),
        *("resident peak", "average", "at the end"),
        *("committed peak", "weight", "regret"),
    )
    return Words(f"the heap on each trace, predicted{_bound(found)}", columns, rows)


def _bound(found: Tuned) -> str:
    """What the search did not see and what binds its answer, with the better designs that it refused."""
    if not found.unseen:
        return ""
    refused = ", ".join(f"{one.designs:,} better designs on {one.trace}" for one in found.refused)
    return f"; the limits hold on {', '.join(found.unseen)} too, which refused {refused or 'no better design'}"


def _near(found: Tuned) -> str:
    """How many designs one choice away from the best were simulated."""
    near = found.near
    return f"; of {near.designs} designs one choice away from the best {near.simulated} were simulated, none is better"


def saved(found: Tuned) -> Iterator[Words]:
    """For each trace on which their bytes differ, what the choice saves of the base's, item by item."""
    for one in found.traces:
        if one.ledgers is not None and (table := ledgers.saved(one.trace, *one.ledgers)).rows:
            yield table


def worth(choices: list[Worth]) -> Words:
    """What each objective would be with the base's choice in place of the design's."""
    rows = [
        (
            *(" and ".join(one.fields), one.chosen, one.base),
            *(f"{one.without[name] - 1:+.1%}" if one.without else "-" for name in OBJECTIVES),
        )
        for one in choices
    ]
    title = "what each choice is worth: the design with the base's value in its place (-: not simulated)"
    return Words(title, ("choice", "<chosen", "<base", *OBJECTIVES), rows)


def finalists(found: Tuned) -> Iterator[Words]:
    """The designs that were replayed beside the base, if any was, the best score first."""
    rows = [
        (
            one.hash + (", chosen" if one.hash == found.design.hash() else ""),
            *(one.what, f"{one.predicted:.3f}", f"{one.replayed:.3f}", f"{one.error:.3f}", f"{one.time:.3f}"),
            *(f"{one.peak:.3f}", f"{one.score:.3f}"),
        )
        for one in sorted(found.finalists, key=lambda one: one.score)
    ]
    title = "finalists, replayed: the allocator's time and peak RSS as parts of the base's"
    columns = ("design", "<", "predicted", "replayed", "standard error", "both", "peak", f"score ({found.favour})")
    if rows:
        yield Words(title, columns, rows)
