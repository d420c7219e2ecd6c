"""What `heapsmith mesh` prints for people."""

from typing import TYPE_CHECKING

from heapsmith.api import show
from heapsmith.bench.common.units import amount

if TYPE_CHECKING:
    from heapsmith.model.predict.mesh import MeshRow, MeshTable

METHODS = ("split", "greedy", "bound")


def meshed(found: "MeshTable") -> None:
    """A table for each design: what each way to mesh gives back."""
    columns = ("<unit", "<placement", "<fronts", *(f"{when} {how}" for when in ("average", "peak") for how in METHODS))
    for row in found.rows:
        show.table(_title(row), columns, [_cells(*one) for one in _ways(row)])


def _title(row: "MeshRow") -> str:
    return f"{row.design}: given back of {amount(row.average)} on average, {amount(row.peak)} at the peak"


def _ways(row: "MeshRow") -> list[tuple[tuple[str, ...], list[float]]]:
    return [((one.way.unit, one.way.placement, one.way.fronts), [*one.average, *one.peak]) for one in row.ways]


def _cells(way: tuple[str, ...], shares: list[float]) -> tuple[str, ...]:
    return *way, *(f"{share:.1%}" for share in shares)
