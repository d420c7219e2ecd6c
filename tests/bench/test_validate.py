"""validate: predicted beside measured on one tiny trace, two designs; the page of plots; what is refused."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from conftest import Answer
from traces import random_trace

from heapsmith.bench.validate.validate import Validation, validate
from heapsmith.model.design.design import load
from heapsmith.model.errors import BadInput
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.trace.reader import Chunk, Op, TraceWriter
from heapsmith.tools.calibrate.bad_designs import bad_designs
from heapsmith.tools.calibrate.calibrate import write_machine


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Validation:
    trace = random_trace(tmp_path_factory.mktemp("validate") / "t.hst", 5000, 5, max_size=1000)
    costs = {"instructions": 0.2, "replay.operation": 7.0, "fault.4k": 600.0}
    machine = msgspec.structs.replace(load_hardware(), costs=costs)
    return validate([trace], [load("default"), load("bare")], machine, rounds=1)


@pytest.mark.thorough
@pytest.mark.thorough
def test_counters_are_equal(found: Validation) -> None:
    counters = next(one for one in found.qualities if one.quantity == "counters")
    assert counters.cells > 50
    assert counters.errors.worst == 0


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_instructions_are_close_and_ranked(found: Validation) -> None:
    one = next(one for one in found.qualities if one.quantity == "instructions per operation")
    assert one.errors.worst < 0.12  # short traces: of first refills and idle stacks only looks have a price
    assert one.tau == 1


@pytest.mark.thorough
def test_times_of_operations_are_compared(found: Validation) -> None:
    cells = {(one.quantity, one.design): one for one in found.cells}
    for design in ("default", "bare"):
        p99, p999 = (cells[f"{name} of an operation", design] for name in ("p99", "p99.9"))
        assert 0 < p99.predicted <= p999.predicted
        assert 0 < p99.measured <= p999.measured
        assert cells["ns per operation", design].predicted > 0
    assert not any("threads" in quantity for quantity, _ in cells)


@pytest.mark.thorough
def test_the_page_holds_every_point(found: Validation, tmp_path: Path) -> None:
    page = tmp_path / "out.html"
    pytest.importorskip("plotly", reason="it draws the plots")
    from heapsmith.bench.validate.scatter import write_scatter

    write_scatter(page, found)
    text = page.read_text()
    assert "Plotly.newPlot" in text
    assert all(one.quantity in text for one in found.qualities)


def test_plots_without_plotly_are_refused_at_once(
    lab: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "plotly.graph_objects", None)
    monkeypatch.delitem(sys.modules, "heapsmith.bench.validate.scatter", raising=False)
    answer = lab("validate", "--traces", tmp_path, "-o", tmp_path / "out.html")
    assert (answer.status, answer.err) == (3, "heapsmith: -o: no package plotly, which draws the plots: make dev-all\n")


def test_a_machine_without_costs_is_refused(lab: Callable[..., Answer], tmp_path: Path) -> None:
    trace, machine = random_trace(tmp_path / "t.hst", 100, 1), tmp_path / "machine.toml"
    write_machine(machine, msgspec.structs.replace(load_hardware(), costs={}))
    answer = lab("validate", "--traces", trace, "--design", "default", "--machine", machine)
    assert answer.status == 2
    assert "heapsmith calibrate -o machine.toml" in answer.err


def test_a_trace_without_operations_is_refused(tmp_path: Path) -> None:
    trace = tmp_path / "empty.hst"
    with TraceWriter(trace, command=["test"], source="test") as writer:
        writer.append(Chunk.of([Op.THREAD_START], [0], [0], [0], [0], [0]))
    with pytest.raises(BadInput, match=r"empty\.hst: has no operation"):
        validate([trace], [load("default")], load_hardware(), rounds=1)


def test_bad_designs_are_valid() -> None:
    designs = bad_designs()
    assert [design.why_not_valid() for design in designs] == [None] * len(designs)
    assert len({design.hash() for design in designs}) == len(designs) >= 10
