"""Hardware: the built-in machine, files that say what is wrong with them, and what Linux tells of this one."""

from pathlib import Path

import msgspec
import pytest

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.memory.hardware import (
    BUILTIN,
    Hardware,
    Level,
    _group_limits,
    detected,
    here,
    load_hardware,
    nearest,
    parse_hardware,
)
from heapsmith.model.memory.numa_nodes import write_nodes

pytestmark = pytest.mark.quick

SMALLEST = 'name = "x"\nl1 = {bytes = 32768, ways = 8}\nllc = {bytes = 37486592, ways = 11}\n'


def test_every_built_in_machine_is_valid() -> None:
    names = [path.stem for path in BUILTIN.glob("*.toml")]
    assert "default" in names
    for name in names:
        assert load_hardware(name).name == name


def test_limits_of_control_groups(tmp_path: Path) -> None:
    groups, root = tmp_path / "cgroup", tmp_path / "fs"
    assert list(_group_limits(groups, root)) == []
    groups.write_text("4:memory:/a/b\n1:cpu:/c\n0::/d/e\n")
    for name, text in (("memory/a/memory.limit_in_bytes", "500\n"), ("d/memory.max", "max"), ("d/e/memory.max", "70")):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
    assert list(_group_limits(groups, root)) == [500, 70]


def test_costs_without_instruction_constants_take_those_of_the_default() -> None:
    assert not parse_hardware(SMALLEST, "x").instructions
    usual = load_hardware().instructions
    assert parse_hardware(SMALLEST + "[costs]\nhit = 1.5\n", "x").instructions == usual
    old = parse_hardware(SMALLEST + "[costs]\nhit = 1.5\n[instructions]\nstart = 2.0\n", "x")
    assert old.instructions == usual | {"start": 2.0}
    assert all(load_hardware(path.stem).instructions.keys() == usual.keys() for path in BUILTIN.glob("*.toml"))


def test_a_file_states_what_differs(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_text(SMALLEST + "[costs]\nhit = 1.5\n[fit]\nmedian_error = 0.02\n")
    hardware = load_hardware(str(tmp_path / "x.toml"))
    assert hardware.l2 is None
    assert hardware.sets(hardware.llc) == 53248
    assert hardware.costs == {"hit": 1.5}
    assert hardware.fit == {"median_error": 0.02}
    assert hardware.tlb == load_hardware().tlb


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("name =", "x.toml: not TOML: "),
        ('name = "x"', "x.toml: hardware: Object missing required field `l1`"),
        (SMALLEST + "core = 1", "x.toml: hardware: Object contains unknown field `core`"),
        (SMALLEST + "[l2]\nbytes = 1\nways = 'a'", "x.toml: l2.ways: Expected `int`, got `str`"),
        (SMALLEST + "line_bytes = 48", "x.toml: line_bytes: 48; expected a power of two, 16 to 4096"),
        (SMALLEST + "cores = 63", "x.toml: cores: 63; expected 1 to 62"),
        (SMALLEST + 'nodes = ["0-3", "4-40"]', "x.toml: nodes: 4-40: expected processors below 32, such as 0-3,8"),
        (SMALLEST + 'nodes = ["x"]', "x.toml: nodes: x: expected processors below 32, such as 0-3,8"),
        (SMALLEST + "l2 = {bytes = 1000, ways = 4}", "x.toml: l2.bytes: 1000; expected a multiple of ways * line_"),
        (SMALLEST + "l2 = {bytes = 1024, ways = 0}", "x.toml: l2.ways: 0; expected 1 to 1024"),
        (SMALLEST + "l2 = {bytes = 768, ways = 4}", "x.toml: l2.bytes: 768 in 4 ways make 3 sets; expected a power of"),
        (SMALLEST + "tlb.small = {entries = 6, ways = 4}", "x.toml: tlb.small.entries: 6 in 4 ways are not whole sets"),
        (SMALLEST + "tlb.huge = {entries = 6, ways = 0}", "x.toml: tlb.huge.ways: 0; expected 1 to 1024"),
        (
            SMALLEST + "tlb.huge = {entries = 131072, ways = 1}",
            "x.toml: tlb.huge.entries: 131072; expected at most 65536",
        ),
        (SMALLEST + "l2 = {bytes = 1073741824, ways = 1}", "x.toml: l2.bytes: 1073741824 in 1 ways make 16777216 sets"),
        (SMALLEST + "costs = {fault = inf}", "x.toml: costs.fault: inf; expected a finite number"),
        (SMALLEST + "costs = {fault = -1}", "x.toml: costs.fault: -1.0; expected a finite number, not below 0"),
        (SMALLEST + "fit = {core_yardstick_ns = 0}", "x.toml: fit.core_yardstick_ns: 0; expected more"),
    ],
)
def test_what_is_wrong_is_said(text: str, reason: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_hardware(text, "x.toml")
    assert str(caught.value).startswith(reason)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [("nowhere", "neither a machine file nor a built-in"), ("nowhere.toml", "cannot be read: No such")],
)
def test_what_was_looked_for_is_said(spec: str, reason: str) -> None:
    with pytest.raises(BadInput, match=f"^{spec}: {reason}"):
        load_hardware(spec)


def describe(system: Path, *caches: tuple[int, str, str, int]) -> Path:
    """A folder as sysfs has: level, type, size, ways."""
    for number, (level, kind, size, ways) in enumerate(caches):
        (system / f"index{number}").mkdir()
        described = {
            "level": level,
            "type": kind,
            "size": size,
            "ways_of_associativity": ways,
            "coherency_line_size": 64,
        }
        for name, value in described.items():
            (system / f"index{number}" / name).write_text(f"{value}\n")
    return system


def test_detected_reads_what_the_system_describes(tmp_path: Path) -> None:
    levels = [
        (1, "Data", "48K", 12),
        (1, "Instruction", "32K", 8),
        (2, "Unified", "1M", 16),
        (3, "Unified", "36608K", 11),
    ]
    cpuinfo = tmp_path / "cpuinfo"
    cpuinfo.write_text("processor\t: 0\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\n")
    hardware = detected(describe(tmp_path, *levels), cpuinfo)
    assert (hardware.l1, hardware.l2) == (Level(49152, 12), Level(1 << 20, 16))
    assert hardware.llc == Level(37486592, 11)
    near = load_hardware("epyc")
    assert (hardware.tlb, hardware.costs, hardware.alone) == (near.tlb, near.costs, near.alone)
    assert msgspec.convert(msgspec.to_builtins(hardware), Hardware) == hardware


@pytest.mark.parametrize(
    ("lists", "nodes"),
    [(("0", "1"), ("0", "1")), (("0-1",), ()), (("0", "x"), ()), (("1", "", "0"), ("1", "0")), (("0-1", "64-99"), ())],
)
def test_detected_reads_the_nodes(
    lists: tuple[str, ...], nodes: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of processors that the model has: it has two."""
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    caches = describe(tmp_path, (1, "Data", "48K", 12), (3, "Unified", "36608K", 11))
    write_nodes(tmp_path, lists)
    assert detected(caches, nodes=tmp_path).nodes == nodes


@pytest.mark.parametrize("text", ["", "vendor_id", "vendor_id\t: another\n"])
def test_the_default_stands_in_for_an_unknown_vendor(tmp_path: Path, text: str) -> None:
    cpuinfo = tmp_path / "cpuinfo"
    assert nearest(cpuinfo) == load_hardware()
    cpuinfo.write_text(text)
    assert nearest(cpuinfo) == load_hardware()


def test_a_second_level_that_is_the_last_is_shared(tmp_path: Path) -> None:
    hardware = detected(describe(tmp_path, (1, "Data", "32K", 8), (2, "Unified", "512K", 16)))
    assert hardware.l2 is None
    assert hardware.llc == Level(1 << 19, 16)


def test_no_description_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Missing, match="describes no first-level data cache"):
        detected(tmp_path)
    with pytest.raises(Missing, match=r"l1\.ways: 0"):
        detected(describe(tmp_path, (1, "Data", "32K", 0), (2, "Unified", "512K", 16)))


def test_here_is_what_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    found = msgspec.structs.replace(load_hardware(), name="detected")
    monkeypatch.setattr("heapsmith.model.memory.hardware.detected", lambda: found)
    assert load_hardware("here") is here() is found
