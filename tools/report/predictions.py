"""Tables of the model's results: designs on a trace, caches."""

from heapsmith.model.memory.application import Application
from heapsmith.model.predict.reuse import ReuseTable
from heapsmith.model.predict.simulate import Simulation, SimulationTable
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.units import amount, duration


def simulated(table: SimulationTable) -> Words:
    """Designs on one trace: rates of slow paths, bytes, and fragmentation at the live peak."""
    columns = (
        *("design", "classes", "hits", "refills per M", "flushes per M", "superslabs"),
        *("committed peak", "to live", "internal", "external", "model speed"),
    )
    rows = [
        (
            row.design,
            str(len(row.block_sizes)),
            f"{row.rates.hit0 + row.rates.hit1:.2%}",
            f"{row.rates.refills_per_million:,.0f}",
            f"{row.rates.flushes_per_million:,.0f}",
            f"{row.counters.totals['superslabs']:,}",
            amount(row.committed_peak),
            f"{row.peak_ratio:.3f}x",
            f"{row.statistics.peak_live.internal_fragmentation:.1%}",
            f"{row.statistics.peak_live.external_fragmentation:.1%}",
            f"{row.events_per_second / 1e6:.1f} M/s",
        )
        for row in table.rows
    ]
    live = amount(table.rows[0].statistics.peak_live.live_bytes)
    title = f"{table.trace} simulated: {table.events:,} events, {table.threads} threads, {live} live at the peak"
    return Words(f"{title}, where fragmentation is taken", columns, rows)


def touched(table: SimulationTable) -> Words:
    """Designs on the simulated machine: misses, pages and, with costs, instructions and time."""
    columns = ["design", "L1 misses", "LLC misses", "TLB misses", "page faults", "resident peak", "resident average"]
    if table.rows[0].price:
        columns += ["instructions", "time", "of the allocator"]
    assert table.application is not None
    title = f"on {table.machine}, {_application(table.application)}: what is no page and no byte is per operation"
    return Words(title, columns, [(row.design, *_touched(row)) for row in table.rows])


def _touched(row: Simulation) -> list[str]:
    of, rates, price = row.touches, row.touch_rates, row.price
    assert of is not None
    assert rates is not None
    cells = [f"{rate:.4f}" for rate in (rates.l1_misses, rates.llc_misses, rates.tlb_misses)]
    cells += [f"{of.faults_4k + of.faults_2m:,}", amount(of.resident_peak), amount(of.resident_average)]
    if price is not None:
        cells += [f"{price.instructions_per_op:.1f}", duration(price.ns_per_op), duration(price.allocator_ns_per_op)]
    return cells


def reused(table: ReuseTable) -> Words:
    """Miss ratios of fully associative caches by size, and the lines that designs touch."""
    rows = [
        (amount(size), *(f"{row.miss_ratios[index]:.3%}" for row in table.rows))
        for index, size in enumerate(table.cache_bytes)
    ]
    rows.append(("endless", *(f"{row.lines / max(1, row.accesses):.3%}" for row in table.rows)))
    rows.append(("accesses per operation", *(f"{row.accesses_per_op:.2f}" for row in table.rows)))
    title = (
        f"{table.trace}, {_application(table.application)}: share of {table.line_bytes}-byte line accesses that miss "
        "in a fully associative LRU cache"
    )
    return Words(title, ("cache", *(row.design for row in table.rows)), rows)


def _application(application: Application) -> str:
    return f"births {application.births}, deaths {application.deaths}"


def locks(table: SimulationTable) -> Words:
    """System calls and locks per million operations, a column per design; by path those that some design takes."""
    found = [row.locks_per_million for row in table.rows]
    rows = [("system calls", *(f"{row.system_calls_per_million:,.1f}" for row in table.rows))]
    rows += [("locks", *(f"{sum(of.values()):,.1f}" for of in found))]
    taken = [name for name in found[0] if any(of[name] for of in found)]
    rows += [(f"locks.{name}", *(f"{of[name]:,.1f}" for of in found)) for name in taken]
    return Words("per million operations, without waits", ("count", *(row.design for row in table.rows)), rows)


def counters(table: SimulationTable) -> Words:
    """The counters of docs/machine.md, a column per design; sums over the classes."""
    first = table.rows[0].counters
    names = dict.fromkeys(name for row in table.rows for name in row.counters.classes)  # a policy may have its own
    rows = [(name, *(f"{sum(row.counters.classes.get(name, ())):,}" for row in table.rows)) for name in names]
    rows += [(name, *(f"{row.counters.totals[name]:,}" for row in table.rows)) for name in first.totals]
    return Words("counters", ("counter", *(row.design for row in table.rows)), rows)
