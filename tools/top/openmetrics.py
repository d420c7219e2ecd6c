"""A look at processes as OpenMetrics, or in Prometheus' text format (docs/live.md)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from heapsmith.tools.common.counter_reports import GAUGES
from heapsmith.tools.top.watch import ClassSight, Sight

Labels = dict[str, str]
Sample = tuple[Labels, float]


class Family(NamedTuple):
    """A metric: its name, kind, help, and a value for each process or class."""

    name: str
    kind: str
    help: str
    samples: list[Sample]

    @property
    def end(self) -> str:
        """What ends the name of a value."""
        return "_total" if self.kind == "counter" else ""


def openmetrics(sights: Sequence[Sight], classes: bool = False) -> str:
    """Return a look as OpenMetrics. classes: also by size class."""
    lines = [line for one in _families(sights, classes) for line in _lines(one, one.name)]
    return "\n".join([*lines, "# EOF"]) + "\n"


def prometheus(sights: Sequence[Sight], classes: bool = False) -> str:
    """The same in Prometheus' own text format, in which a counter is called as its values are."""
    lines = [line for one in _families(sights, classes) for line in _lines(one, one.name + one.end)]
    return "\n".join(lines) + "\n"


def _lines(one: Family, name: str) -> Iterator[str]:
    """A family under a name, with its values."""
    yield f"# HELP {name} {one.help}"
    yield f"# TYPE {name} {one.kind}"
    for labels, value in one.samples:
        yield f"{one.name}{one.end}{{{_labels(labels)}}} {value}"


def _labels(labels: Labels) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(text: str) -> str:
    shown = text.encode(errors="backslashreplace").decode()
    return shown.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")


def _of(one: Sight) -> Labels:
    """The labels of a process. The design's hash is apart, so that a panel may show one design over its versions."""
    design, _, number = one.design.partition(" ")
    return {"pid": str(one.pid), "program": one.command[0] if one.command else "", "design": design, "hash": number}


def _families(sights: Sequence[Sight], classes: bool) -> Iterator[Family]:
    yield from _of_processes(sights)
    yield from _by_class(sights) if classes else ()


def _of_processes(sights: Sequence[Sight]) -> Iterator[Family]:
    gauges: dict[str, tuple[str, Callable[[Sight], float]]] = {
        "resident_bytes": ("Resident memory of the process.", lambda one: one.rss_bytes),
        "committed_bytes": ("Bytes that the heap has from the system.", lambda one: one.bytes.committed),
        "committed_peak_bytes": ("The most committed bytes so far.", lambda one: one.counters["committed_peak"]),
        "metadata_bytes": (
            "Bytes of the heap's own records, beside the committed ones.",
            lambda one: one.metadata_bytes,
        ),
        "threads": ("Threads of the process.", lambda one: one.threads),
        "heaps": ("Heaps of threads or processors.", lambda one: one.heaps),
        "idle_heaps": ("Heaps whose thread has ended.", lambda one: one.idle_heaps),
        "allocated_bytes": (
            "Bytes of the uses small, runs and huge: of blocks with the program.",
            lambda one: one.bytes.allocated,
        ),
        "retained_bytes": (
            "Committed bytes beyond the allocated ones.",
            lambda one: max(0, one.bytes.committed - one.bytes.allocated),
        ),
    }
    for name, (said, value) in gauges.items():
        yield Family(f"heapsmith_{name}", "gauge", said, [(_of(one), value(one)) for one in sights])
    uses = [name for name in sights[0].bytes.__struct_fields__ if name != "committed"] if sights else []
    samples: list[Sample] = [(_of(one) | {"use": name}, getattr(one.bytes, name)) for one in sights for name in uses]
    yield Family("heapsmith_bytes", "gauge", "What the committed bytes are for.", samples)
    yield Family("heapsmith_events", "counter", "Events of the heap by kind (docs/machine.md).", list(_events(sights)))


def _events(sights: Iterable[Sight]) -> Iterator[Sample]:
    """The counters of the process and the sums of its classes; those of locks and system calls if they are counted."""
    for one in sights:
        sums = {name: sum(of.counters[name] for of in one.classes) for name in one.classes[0].counters}
        whole = {name: count for name, count in one.counters.items() if name not in GAUGES}
        locks = {f"locks.{path}": count for path, count in one.locks.items()}
        for name, count in (whole | one.system | sums | locks).items():
            yield _of(one) | {"kind": name}, count
        yield _of(one) | {"kind": "released_bytes"}, one.counters["released_bytes"]


def _by_class(sights: Iterable[Sight]) -> Iterator[Family]:
    shown: dict[str, tuple[str, Callable[[ClassSight], float]]] = {
        "live_blocks": ("Blocks with the program.", lambda one: one.live_blocks),
        "front_blocks": ("Blocks in fronts.", lambda one: one.front_blocks),
        "slab_bytes": ("Bytes of slabs.", lambda one: one.slab_bytes),
    }
    every = [(_of(one), of) for one in sights for of in one.classes]
    for name, (said, value) in shown.items():
        samples = [(labels | {"size": str(of.size)}, value(of)) for labels, of in every]
        yield Family(f"heapsmith_class_{name}", "gauge", f"{said[:-1]} of a size class.", samples)
