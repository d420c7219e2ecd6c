"""What each choice of the default is worth: the design with one choice put back, simulated on traces.

python -m heapsmith.bench.studies.worth TRACE... prints the table of docs/lab/search.md.
"""

from pathlib import Path
from statistics import geometric_mean
from typing import Annotated, Any

import msgspec
import typer

from heapsmith.bench.common.command import exit_with
from heapsmith.model.design.design import Design, changed, load
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.simulate import Simulation, simulate
from heapsmith.tools.common.tables import Words, section

FOUR_STEPS = [
    *range(16, 129, 16),
    *(base + base // 4 * step for base in (1 << k for k in range(7, 15)) for step in (1, 2, 3, 4)),
]
MIB = 1 << 20

BACK: dict[str, dict[str, Any]] = {
    "four classes per doubling": {"sizes": FOUR_STEPS},
    "huge pages from 16 and 64 MiB on": {"thp_slabs_from_bytes": 16 * MIB, "thp_runs_from_bytes": 64 * MIB},
    "fronts of up to 128 KiB a class": {"front": {"max_bytes": MIB // 8}},
    "budgets of 4 and 1 MiB at first": {"release": {"slab_budget_bytes": 4 * MIB, "run_budget_bytes": MIB}},
    "stacks that open at once": {"opening": None},
    "whole refills from the first on": {"opening": {"first_blocks": 0}},
    "idle stacks keep their blocks": {"opening": {"idle_percent": 0}},
    "slots of each class apart": {"opening": {"compact_blocks": 0}},
    "no stack that frees open": {"opening": {"frees": 0}},
    "no run cache": {"run_cache_bytes": 0},
    "the patience of a large heap for all": {"release": {"share_wait_percent": 0}},
    "no look at the peak": {"release": {"peak_percent": 0}},
    "a transfer cache for one heap too": {"transfer_from_heaps": 1},
    "1024 bytes for 1040": {"sizes": [1 << 10 if size == 1040 else size for size in load("default").sizes]},
}
"""What the default was before each of its choices; of a policy the numbers that differ."""


def put_back(design: Design) -> list[Design]:
    """The design with each choice of BACK put back alone."""
    return [changed(design, name.replace(" ", "-"), _whole(design, fields)) for name, fields in BACK.items()]


def _whole(design: Design, fields: dict[str, Any]) -> dict[str, Any]:
    stated = msgspec.to_builtins(design)
    return {name: stated[name] | value if isinstance(value, dict) else value for name, value in fields.items()}


def main(
    traces: Annotated[list[Path], typer.Argument(exists=True, dir_okay=False, help="Traces of programs.")],
    design: Annotated[str, typer.Option(metavar="DESIGN", help="The design whose choices go back.")] = "default",
) -> int:
    """Print time, peak and average without each choice, as parts of those with it: means, and the worst trace."""
    base = load(design)
    each = [simulate(trace, [base, *put_back(base)], hardware=load_hardware("default")).rows for trace in traces]
    rows = []
    for at, name in enumerate(BACK, start=1):
        parts = [
            [there / here for here, there in zip(_figures(row[0]), _figures(row[at]), strict=True)] for row in each
        ]
        columns = list(zip(*parts, strict=True))
        rows.append([name, *(f"{_mean(column):.3f} ({min(column):.3f} to {max(column):.3f})" for column in columns)])
    print("\n".join(section(Words("What each choice is worth", ("<put back", "time", "peak", "average"), rows))))
    return 0


def _figures(row: Simulation) -> tuple[float, float, float]:
    assert row.price is not None, "the built-in machine has costs"
    assert row.touches is not None
    return row.price.ns_per_op, row.touches.resident_peak, row.touches.resident_average


def _mean(ratios: tuple[float, ...]) -> float:
    return geometric_mean(ratios)


if __name__ == "__main__":
    exit_with(main)
