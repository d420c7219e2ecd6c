"""Does a trace survive its export and import, up to what the format lacks, and are rows and counters those of it?"""

import gzip
import json
import sys
from collections import defaultdict
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from conftest import Answer
from hypothesis import given, settings
from hypothesis import strategies as st
from traces import random_chunk, random_trace, trace_of

from heapsmith.model.errors import BadInput, Missing
from heapsmith.model.trace.events import BIRTHS, DEATHS, Chunk, Op, join
from heapsmith.model.trace.exports.formats import export_trace
from heapsmith.model.trace.imports.formats import import_trace
from heapsmith.model.trace.reader import TraceReader, TraceWriter, verify
from heapsmith.model.trace.stats import trace_info

pyarrow = pytest.importorskip("pyarrow", reason="rows are tables of pyarrow")

PLAIN = {Op.CALLOC: Op.MALLOC, Op.ALIGNED: Op.MALLOC, Op.FREE_SIZED: Op.FREE}
"""What `rep` makes of the operations that it has not."""

Call = Callable[..., Answer]


@st.composite
def chunks(draw: st.DrawFn) -> Chunk:
    """Random traces, whose block numbers are used again in the order of an import."""
    threads = draw(st.integers(1, 4))
    events = draw(st.integers(4 * threads, 400))
    seed = draw(st.integers(0, 10_000))
    chunk = random_chunk(events, seed, threads, cross_thread=0.3 if threads > 1 else 0.0, live=20, max_size=1 << 30)
    if draw(st.booleans()):
        places = np.random.default_rng(seed).integers(-1, 8192, events)
        chunk = chunk._replace(processor=places.astype(np.int16))
    return chunk


def written(path: Path, chunk: Chunk) -> Path:
    has = bool((chunk.processor >= 0).any())
    with TraceWriter(path, command=["x"], source="test", chunk_events=97, processors=has) as writer:
        writer.append(chunk)
    return path


def events_of(path: Path) -> list[tuple[int, ...]]:
    with TraceReader(path) as reader:
        joined = join([*reader])
    return [*zip(*(column.tolist() for column in joined), strict=True)]


def reduced(chunk: Chunk, name: str) -> list[tuple[int, ...]]:
    """The events as this format has them."""
    rows = [*zip(*(column.tolist() for column in chunk), strict=True)]
    if name == "malloc-bench":
        return [(op, 0, block, size, log2, 0, -1) for op, _, block, size, log2, *_ in rows if op < Op.THREAD_START]
    if name == "rep":
        plain = [(PLAIN.get(Op(op), op), block, size) for op, _, block, size, *_ in rows if op < Op.THREAD_START]
        return [(op, 0, block, size if op != Op.FREE else 0, 0, 0, -1) for op, block, size in plain]
    return rows


@pytest.mark.parametrize("name", ["parquet", "csv", "jsonl", "rep", "malloc-bench"])
@settings(max_examples=12, deadline=None)
@given(chunk=chunks(), packed=st.booleans())
def test_an_import_of_an_export_has_the_same_events(name: str, chunk: Chunk, packed: bool) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder) / ("out.gz" if packed and name != "parquet" else "out")
        export_trace(written(Path(folder) / "in.hst", chunk), out, name)
        import_trace(out, Path(folder) / "back.hst")  # which finds the format by itself
        assert events_of(Path(folder) / "back.hst") == reduced(chunk, name)


@pytest.mark.parametrize("name", ["parquet", "csv", "jsonl", "malloc-bench"])
def test_the_largest_numbers_survive(tmp_path: Path, name: str) -> None:
    ops = [Op.MALLOC, Op.ALIGNED, Op.FREE_SIZED, Op.FREE, Op.MALLOC]
    sizes, log2 = [(1 << 63) - 1, 1 << 40, 7, 0, 0], [0, 62, 62, 0, 0]
    chunk = Chunk.of(ops, [0] * 5, [0, 1, 1, 0, 0], sizes, log2, [0] * 5)
    export_trace(written(tmp_path / "in.hst", chunk), tmp_path / "out", name)
    import_trace(tmp_path / "out", tmp_path / "back.hst")
    assert events_of(tmp_path / "back.hst") == [*zip(*(column.tolist() for column in chunk), strict=True)]


def lives_by_hand(chunk: Chunk) -> list[dict[str, Any]]:
    """What --rows lives ought to have, without nulls."""
    live: dict[int, dict[str, Any]] = {}
    ended, born = [], 0
    for event, row in enumerate(zip(*(column.tolist() for column in chunk), strict=True)):
        op, thread, block, size, log2, time_ns, _ = row
        if op in BIRTHS:
            about = {"life": born, "pointer": block + 1, "op": Op(op).name.lower(), "size": size, "last_size": size}
            about |= {"alignment": 1 << log2} if log2 else {}
            live[block] = about | {"reallocs": 0, "birth_event": event, "birth_ns": time_ns, "birth_thread": thread}
            born += 1
        elif op == Op.REALLOC:
            live[block] |= {"last_size": size, "reallocs": live[block]["reallocs"] + 1}
        elif op in DEATHS:
            ended.append(live.pop(block) | {"death_event": event, "death_ns": time_ns, "death_thread": thread})
    return ended + sorted(live.values(), key=lambda life: int(life["life"]))


@settings(max_examples=12, deadline=None)
@given(chunk=chunks())
def test_lives_are_those_of_the_blocks(chunk: Chunk) -> None:
    with TemporaryDirectory() as folder:
        out = Path(folder) / "lives.jsonl"
        export_trace(written(Path(folder) / "in.hst", chunk), out, rows="lives")
        assert [json.loads(line) for line in out.read_text().splitlines()] == lives_by_hand(chunk)


def test_a_trace_with_other_block_numbers_keeps_its_lives(tmp_path: Path) -> None:
    """The import takes the number that was freed last: the blocks are the same under other numbers."""
    chunk = Chunk.of([0, 0, 4, 4, 0, 0, 4], [0] * 7, [0, 1, 0, 1, 0, 1, 0], [5, 6, 0, 0, 7, 8, 0], [0] * 7, range(7))
    export_trace(written(tmp_path / "in.hst", chunk), tmp_path / "out.csv")
    import_trace(tmp_path / "out.csv", tmp_path / "back.hst")
    assert [row[2] for row in events_of(tmp_path / "back.hst")] == [0, 1, 0, 1, 1, 0, 1]
    lives = []
    for trace in ("in.hst", "back.hst"):
        export_trace(tmp_path / trace, tmp_path / "lives.jsonl", rows="lives")
        rows = [json.loads(line) for line in (tmp_path / "lives.jsonl").read_text().splitlines()]
        lives.append([{name: value for name, value in row.items() if name != "pointer"} for row in rows])
    assert lives[0] == lives[1]


def counters(path: Path) -> dict[str, list[tuple[int, int]]]:
    """The times and values of each counter, by its name, as perfetto's own messages have them."""
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="decodes the trace")
    found: dict[str, list[tuple[int, int]]] = defaultdict(list)
    tracks: dict[int, Any] = {}
    for packet in protos.Trace.FromString(path.read_bytes()).packet:
        if packet.HasField("track_descriptor"):
            track = packet.track_descriptor
            assert not track.HasField("parent_uuid") or track.parent_uuid in tracks
            tracks[track.uuid] = track
        else:
            track = tracks[packet.track_event.track_uuid]
            assert track.HasField("counter")
            found[track.name].append((packet.timestamp, packet.track_event.counter_value))
    assert [track.process.process_name for track in tracks.values() if track.HasField("process")] == ["x"]
    return found


@pytest.mark.parametrize("spread", [1, 1_000_003])
def test_counters_of_perfetto_are_those_of_the_trace(tmp_path: Path, spread: int) -> None:
    chunk = random_chunk(3000, 5, 3, cross_thread=0.2, live=200)
    times = np.arange(3000, dtype=np.int64) * spread
    trace = written(tmp_path / "in.hst", chunk._replace(time_ns=times))
    export_trace(trace, tmp_path / "out.pftrace")
    found, info = counters(tmp_path / "out.pftrace"), trace_info(trace)
    assert max(value for _, value in found["live bytes"]) == info.peak_live_bytes
    assert found["live blocks"][-1][1] == verify(trace).live_at_end
    requests = np.isin(chunk.op, [*BIRTHS, Op.REALLOC])
    for thread in range(3):
        mine = requests & (chunk.thread == thread)
        rates = found[f"thread {thread}: requests per second"]
        steps = pairwise(rates)
        total = sum(value * (end - start) for (start, value), (end, _) in steps) / 1e9
        assert total == pytest.approx(np.count_nonzero(mine), rel=1e-3)
        assert rates[-1][1] == 0


def test_what_a_trace_lacks_its_tables_lack(tmp_path: Path) -> None:
    (tmp_path / "in.rep").write_text("0\n1\n2\n1\na 0 8\nf 0\n")
    import_trace(tmp_path / "in.rep", tmp_path / "in.hst")
    export_trace(tmp_path / "in.hst", tmp_path / "out.csv")
    assert "time_ns" not in (tmp_path / "out.csv").read_text()
    again = import_trace(tmp_path / "out.csv", tmp_path / "back.hst")
    with TraceReader(tmp_path / "in.hst") as reader:
        assert again.extra["inexact"] == reader.footer.extra["inexact"]
    export_trace(tmp_path / "in.hst", tmp_path / "out.rep")
    assert (tmp_path / "out.rep").read_bytes() == (tmp_path / "in.rep").read_bytes()
    found = export_trace(tmp_path / "in.hst", tmp_path / "out.pftrace")
    assert found.lacks[0] == "single events and blocks: it has sums of slices of 1 events each"
    assert found.notes[0].startswith("the trace has no times: a nanosecond of this file is an event")
    assert not any("time" in what for what in export_trace(tmp_path / "in.hst", tmp_path / "out.rep").lacks)


def test_what_each_format_lacks_is_said_exactly(tmp_path: Path) -> None:
    """A trace with everything: callocs, alignments, sized frees, a realloc, the end of a thread, a command."""
    ops = [Op.MALLOC, Op.CALLOC, Op.ALIGNED, Op.REALLOC, Op.FREE_SIZED, Op.THREAD_EXIT]
    chunk = Chunk.of(ops, [0, 0, 1, 0, 0, 1], [0, 1, 2, 0, 0, 0], [8, 8, 64, 9, 9, 0], [0, 0, 6, 0, 0, 0], [*range(6)])
    with TraceWriter(tmp_path / "in.hst", command=["job"], source="test") as writer:
        writer.append(chunk)
        writer.close({"drops": 1234, "seed": 7})
    metadata = ["the command", "the count of 1,234 lost events", "the other fields of the footer (seed)"]
    plain = ["the time of each event", "which of 2 threads made each call", "1 starts and ends of threads"]
    sized = "the sizes that 1 sized frees say"
    calls = ["that 1 allocations are callocs", "the alignments of 1 aligned allocations", sized]
    reallocs = "the time and thread of 1 reallocs, and sizes between the first and the last of a block"
    slices = "single events and blocks: it has sums of slices of 1 ns each"
    for name, rows, lacks in (
        ("out.csv", "events", metadata),
        ("lives.csv", "lives", [reallocs, sized, plain[-1], *metadata]),
        ("out.rep", "events", [*plain, *calls, *metadata]),
        ("out.trace", "events", [*plain, *metadata]),
        ("out.pftrace", "events", [slices, plain[-1], *metadata[1:]]),
    ):
        assert export_trace(tmp_path / "in.hst", tmp_path / name, None, rows).lacks == lacks


@pytest.mark.parametrize("name", ["out.parquet", "out.csv", "out.rep", "out.trace", "out.pftrace"])
def test_a_trace_without_events_has_a_file(tmp_path: Path, name: str) -> None:
    written(tmp_path / "in.hst", Chunk.of(*[[]] * 6))
    found = export_trace(tmp_path / "in.hst", tmp_path / name)
    assert found.count == (3 if name == "out.pftrace" else 0)
    if found.format != "perfetto":
        with pytest.raises(BadInput, match="has no calls of malloc or free"):
            import_trace(tmp_path / name, tmp_path / "back.hst", found.format)


def test_the_command_says_what_the_file_lacks(call: Call, tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "in.hst", 2000, 3, 3, cross_thread=0.2)
    answer = call("trace", "export", trace, "-o", tmp_path / "out.rep.gz", "--json")
    assert answer.status == 0
    found = json.loads(answer.out)
    assert found["count"] == int(gzip.decompress((tmp_path / "out.rep.gz").read_bytes()).split()[2])
    assert found["lacks"][:2] == ["the time of each event", "which of 3 threads made each call"]
    assert answer.err == f"heapsmith: {tmp_path / 'out.rep.gz'} does not hold: {'; '.join(found['lacks'])}\n"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["-o", "out.xyz"], "out.xyz: its name tells no format; say it with --to: parquet, csv"),
        (["-o", "out", "--to", "xlsx"], "--to xlsx: no such format; expected one of parquet, csv"),
        (["-o", "out.rep", "--rows", "lives"], "--rows lives: rep has no rows; expected one of parquet, csv, jsonl"),
        (["-o", "out.csv", "--rows", "sites"], "in.hst: has no call stacks; expected a trace of `heapsmith record"),
        (["-o", "out.parquet.gz"], "out.parquet.gz: Parquet has its own compression"),
        (["-o", "in.hst", "--to", "csv"], "in.hst: this is the trace to export; expected another file"),
        (["-o", "-", "--to", "csv"], "-o: - is standard output; expected a file"),
    ],
)
def test_mistakes_are_one_line_and_leave_no_file(
    call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], words: str
) -> None:
    monkeypatch.chdir(tmp_path)
    trace_of(tmp_path / "in.hst", [8, 9])
    answer = call("trace", "export", "in.hst", *arguments)
    assert answer.status == 2
    assert answer.err.startswith(f"heapsmith: {words}")
    assert [path.name for path in tmp_path.iterdir()] == ["in.hst"]


def test_lives_are_no_trace_again(call: Call, tmp_path: Path) -> None:
    trace_of(tmp_path / "in.hst", [8, 9])
    lives = tmp_path / "lives.csv"
    assert call("trace", "export", tmp_path / "in.hst", "--rows", "lives", "-o", lives).status == 0
    answer = call("trace", "import", lives, "-o", tmp_path / "out.hst")
    assert answer.status == 2
    assert "expected a row for each call" in answer.err


def test_a_damaged_trace_leaves_no_file(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "in.hst", 4000, 1, chunk_events=1000)
    data = bytearray(trace.read_bytes())
    data[len(data) // 2] ^= 0xFF
    trace.write_bytes(data)
    for name in ("out.csv", "out.parquet", "out.rep", "out.trace", "out.pftrace"):
        with pytest.raises(BadInput, match=r"in\.hst: chunk"):
            export_trace(trace, tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["in.hst"]


@pytest.mark.parametrize(("package", "name"), [("perfetto.protos.perfetto.trace", "out.pftrace"), ("pyarrow", "o.csv")])
def test_an_absent_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str, name: str) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(Missing, match=r"pip install 'heapsmith\["):
        export_trace(trace_of(tmp_path / "in.hst", [8]), tmp_path / name)
    assert [path.name for path in tmp_path.iterdir()] == ["in.hst"]


def test_rows_of_sites_have_the_numbers_of_the_lives(call: Call, sited: Path, tmp_path: Path) -> None:
    for rows in ("lives", "sites"):
        assert call("trace", "export", sited, "--rows", rows, "-o", tmp_path / f"{rows}.jsonl").status == 0
    tables = {rows: [json.loads(x) for x in (tmp_path / f"{rows}.jsonl").open()] for rows in ("lives", "sites")}
    by_site = {row["site"]: row for row in tables["sites"]}
    asked: dict[int, int] = defaultdict(int)
    for life in tables["lives"]:
        asked[life.get("site", 0)] += 1
    assert all(by_site[site]["requests"] >= count for site, count in asked.items() if site)
    plain = [life for life in tables["lives"] if not life["reallocs"] and "death_event" not in life]
    assert sum(life["last_size"] for life in plain) <= sum(row["end_bytes"] for row in by_site.values())
    assert all(row["stack"].count(" < ") >= 1 and row["function"] for row in by_site.values())


@pytest.fixture(scope="module")
def sited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A trace with call stacks of a real program."""
    from heapsmith.tools.record.record import Processes, record

    out = tmp_path_factory.mktemp("sited") / "ls.hst"
    record(["ls", "-l", "/"], out, processes=Processes(all=False), stacks=64, stdout=2)
    return out
