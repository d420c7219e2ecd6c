"""The Hardware: a machine's caches, TLBs and costs for the model; from TOML or from Linux."""

import math
import os
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Annotated

import msgspec

from heapsmith.model.constants import PAGE, PAGE_SIZES
from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.memory.numa_nodes import SYSTEM as NODES
from heapsmith.model.memory.numa_nodes import numbers_in, system_nodes, why_no_nodes
from heapsmith.model.toml_text import from_toml, read_text

BUILTIN = Path(__file__).resolve().parent.parent / "machines"
DEFAULT = "default"
HERE = "here"
"""The name of the machine that runs this process."""
SYSTEM = Path("/sys/devices/system/cpu/cpu0/cache")
CPUINFO = Path("/proc/cpuinfo")

SPARE_SHARE = 0.5
"""The most of the free memory that a measurement takes: more could make the system kill a process."""

MAX_CORES = 62
"""The mask of a line's cores fits in a word."""
MAX_WAYS = 1024
MAX_ENTRIES = 1 << 16
MAX_SETS = 1 << 22
"""Each set takes 128 bytes or more of the simulation's memory."""
MAX_BYTES = 1 << 32


def _doc(text: str) -> msgspec.Meta:
    return msgspec.Meta(description=text)


class Level(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set-associative cache with LRU replacement."""

    bytes: int
    ways: int


class TlbLevel(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A set-associative TLB with LRU replacement."""

    entries: int
    ways: int


class Tlb(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The data TLB of a core."""

    small: Annotated[TlbLevel, _doc("first level, pages of page_bytes")] = TlbLevel(96, 6)
    huge: Annotated[TlbLevel, _doc("first level, pages of 2 MiB")] = TlbLevel(32, 4)
    second: Annotated[TlbLevel, _doc("second level, pages of both sizes")] = TlbLevel(2048, 16)


class Hardware(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A machine. Sizes are in bytes; the sets of TLBs and private caches are a power of two."""

    name: Annotated[str, _doc("a short name")]
    l1: Annotated[Level, _doc("first-level data cache of a core")]
    llc: Annotated[Level, _doc("last-level cache, shared by all cores")]
    l2: Annotated[Level | None, _doc("second-level cache of a core, if it has one")] = None
    line_bytes: Annotated[int, _doc("a power of two, 16 to 4096")] = 64
    page_bytes: Annotated[int, _doc("pages of the system: 4096, 16384 or 65536")] = PAGE
    cores: Annotated[int, _doc("number of cores, 1 to 62; threads are dealt to them in turn")] = 32
    nodes: Annotated[
        tuple[str, ...], _doc("processors of each node of memory, as 0-7,16-23; empty: one node has them all")
    ] = ()
    tlb: Annotated[Tlb, _doc("data TLBs of a core")] = Tlb()
    vendor: Annotated[str, _doc("vendor_id in /proc/cpuinfo of the processors for which it stands in")] = ""
    zeroing_caches: Annotated[
        bool, _doc("the OS zeroes a page at its first touch, and its lines stay in the caches")
    ] = True
    costs: Annotated[dict[str, float], _doc("nanoseconds per kind of event")] = msgspec.field(default_factory=dict)
    alone: Annotated[
        dict[str, float], _doc("nanoseconds per kind of event in an operation by itself; empty: as in costs")
    ] = msgspec.field(default_factory=dict)
    instructions: Annotated[dict[str, float], _doc("instructions per kind of event")] = msgspec.field(
        default_factory=dict
    )
    fit: Annotated[dict[str, float], _doc("facts about the fit of the costs, such as residuals")] = msgspec.field(
        default_factory=dict
    )

    def why_not_valid(self) -> str | None:
        """Return why this is no valid machine, with the field's path, or None."""
        if not _is_power(self.line_bytes) or not 16 <= self.line_bytes <= 4096:
            return f"line_bytes: {self.line_bytes}; expected a power of two, 16 to 4096"
        if self.page_bytes not in PAGE_SIZES:
            return f"page_bytes: {self.page_bytes}; expected 4096, 16384 or 65536"
        if not 1 <= self.cores <= MAX_CORES:
            return f"cores: {self.cores}; expected 1 to {MAX_CORES}"
        if reason := why_no_nodes(self.nodes, self.cores):
            return f"nodes: {reason}"
        return self._why_not_caches() or self._why_not_tlbs() or self._why_not_numbers()

    def other_pages(self) -> int | None:
        """Return the length of its pages if it is not that of x86-64's."""
        return None if self.page_bytes == PAGE else self.page_bytes

    def costs_alone(self) -> dict[str, float]:
        """Return the costs of an operation by itself: one that no other overlaps."""
        return self.alone or self.costs

    def levels(self) -> list[Level | TlbLevel]:
        """Return all caches and TLBs."""
        tlbs: list[TlbLevel] = [getattr(self.tlb, name) for name in self.tlb.__struct_fields__]
        return [*(level for level in (self.l1, self.l2, self.llc) if level), *tlbs]

    def sets(self, level: Level | TlbLevel) -> int:
        """Return the sets of a cache or TLB."""
        entries = level.bytes // self.line_bytes if isinstance(level, Level) else level.entries
        return entries // level.ways

    def _why_not_caches(self) -> str | None:
        for path, level in (("l1", self.l1), ("l2", self.l2), ("llc", self.llc)):
            if level is None:
                continue
            if not 1 <= level.ways <= MAX_WAYS:
                return f"{path}.ways: {level.ways}; expected 1 to {MAX_WAYS}"
            set_bytes = level.ways * self.line_bytes
            if not set_bytes <= level.bytes <= MAX_BYTES or level.bytes % set_bytes:
                return f"{path}.bytes: {level.bytes}; expected a multiple of ways * line_bytes, at most {MAX_BYTES}"
            if self.sets(level) > MAX_SETS:
                return (
                    f"{path}.bytes: {level.bytes} in {level.ways} ways make {self.sets(level)} sets; at most {MAX_SETS}"
                )
            if path != "llc" and not _is_power(self.sets(level)):
                return f"{path}.bytes: {level.bytes} in {level.ways} ways make {self.sets(level)} sets; " + _POWER
        return None

    def _why_not_tlbs(self) -> str | None:
        for name in self.tlb.__struct_fields__:
            level: TlbLevel = getattr(self.tlb, name)
            if not 1 <= level.ways <= MAX_WAYS:
                return f"tlb.{name}.ways: {level.ways}; expected 1 to {MAX_WAYS}"
            if level.entries > MAX_ENTRIES:
                return f"tlb.{name}.entries: {level.entries}; expected at most {MAX_ENTRIES}"
            if level.entries % level.ways or not _is_power(level.entries // level.ways):
                return f"tlb.{name}.entries: {level.entries} in {level.ways} ways are not whole sets; " + _POWER
        return None

    def _why_not_numbers(self) -> str | None:
        for table in ("costs", "alone", "instructions", "fit"):
            for kind, number in getattr(self, table).items():
                if not 0 <= number < math.inf:
                    return f"{table}.{kind}: {number}; expected a finite number, not below 0"
        for name in ("core_yardstick_ns", "memory_yardstick_ns"):
            if self.fit.get(name, 1) == 0:
                return f"fit.{name}: 0; expected more"
        return None


_POWER = "expected a power of two of them"


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0


def parse_hardware(text: str, source: str) -> Hardware:
    """Return the hardware of a TOML text; BadInput names `source`, field and expectation.

    Instruction constants depend on the compiler more than on the machine: with costs, those of the
    default hardware stand in where constants are missing. A file that is older than a policy has none of it.
    """
    hardware = _parsed(text, source)
    if not hardware.costs:
        return hardware
    return msgspec.structs.replace(hardware, instructions=_usual_instructions() | hardware.instructions)


@cache
def _usual_instructions() -> dict[str, float]:
    return _parsed(read_text(BUILTIN / f"{DEFAULT}.toml", DEFAULT), DEFAULT).instructions


def _parsed(text: str, source: str) -> Hardware:
    hardware = from_toml(text, source, Hardware, _in_words)
    if reason := hardware.why_not_valid():
        raise BadInput(f"{source}: {reason}")
    return hardware


def _in_words(error: str) -> str:
    """Return msgspec's message with the field first."""
    what, _, path = error.partition(" - at `$.")
    return f"{path.rstrip('`') or 'hardware'}: {what}"


def load_hardware(spec: str = DEFAULT) -> Hardware:
    """Return the hardware of a TOML file, the built-in hardware of a name, or HERE the detected.

    Raises BadInput for an unknown name, and whatever `detected` raises.
    """
    path = Path(spec)
    if not (path.suffix == ".toml" or path.exists()):
        if spec == HERE:
            return detected()
        path = BUILTIN / f"{spec}.toml"
        if not path.is_file():
            known = ", ".join(sorted(file.stem for file in BUILTIN.glob("*.toml")))
            raise BadInput(f"{spec}: neither a machine file nor a built-in machine; built in are {known} and {HERE}")
    return parse_hardware(read_text(path, spec), spec)


def nearest(cpuinfo: Path = CPUINFO) -> Hardware:
    """Return the built-in hardware of this machine's vendor, or the default hardware."""
    try:
        words = cpuinfo.read_text().split()
        vendor = words[words.index("vendor_id") + 2]
    except (OSError, ValueError, IndexError):
        return load_hardware()
    known = (load_hardware(path.stem) for path in sorted(BUILTIN.glob("*.toml")))
    return next((one for one in known if one.vendor == vendor), load_hardware())


def detected(system: Path = SYSTEM, cpuinfo: Path = CPUINFO, nodes: Path = NODES) -> Hardware:
    """Return this machine's hardware as Linux describes the caches of its first processor, and its nodes.

    Linux describes no TLBs and no costs: those of the nearest hardware stand in. Raises Missing if
    Linux describes no valid caches.
    """
    caches: dict[int, Level] = {}
    lines: set[int] = set()
    for index in sorted(system.glob("index*")):
        try:
            if (index / "type").read_text().strip() in ("Data", "Unified"):
                level, ways, size = (_number(index / name) for name in ("level", "ways_of_associativity", "size"))
                caches[level] = Level(size, ways)
                lines.add(_number(index / "coherency_line_size"))
        except (OSError, ValueError):
            continue
    if len(lines) != 1 or 1 not in caches or max(caches) == 1:
        raise Missing(f"{system}: describes no first-level data cache and a level behind it")
    last = max(caches)
    cores = min(os.cpu_count() or 1, MAX_CORES)
    seen = {"l1": caches[1], "l2": caches.get(2) if last > 2 else None, "llc": caches[last]}
    found = [text for text in system_nodes(nodes) if numbers_in(text, cores)]
    hardware = msgspec.structs.replace(
        nearest(cpuinfo),
        name="detected",
        **seen,
        line_bytes=lines.pop(),
        cores=cores,
        nodes=tuple(found) if len(found) > 1 else (),
        fit={},
    )
    if reason := hardware.why_not_valid():
        raise Missing(f"{system}: {reason}")
    return hardware


def here() -> Hardware:
    """Return the detected hardware, or the nearest if Linux describes no caches."""
    try:
        return detected()
    except Missing:
        return nearest()


def free_bytes() -> int:
    """Return the bytes of memory that are free (proc(5)), or the limit of a control group if that is less."""
    with Path("/proc/meminfo").open() as lines:
        available = next(int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:"))
    return min([available, *_group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))])


def _group_limits(groups: Path, root: Path) -> Iterator[int]:
    """Yield the limits of the control groups that `groups` names and of those around them (cgroups(7))."""
    for line in groups.read_text().splitlines() if groups.exists() else []:
        _, controllers, path = line.split(":", 2)
        if controllers not in ("", "memory"):
            continue
        own = root / controllers / path.lstrip("/")
        for folder in (own, *own.parents):
            with suppress(OSError, ValueError):  # "max" is no limit
                yield int((folder / ("memory.limit_in_bytes" if controllers else "memory.max")).read_text())


def _number(file: Path) -> int:
    """Return the number in a file, in bytes if it ends in K or M."""
    text = file.read_text().strip()
    return int(text.rstrip("KM")) << {"K": 10, "M": 20}.get(text[-1:], 0)
