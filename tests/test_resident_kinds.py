"""Programs with known memory: a recording tells each kind within a few per cent, at the right time."""

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import viewers
from conftest import Answer

from heapsmith.codegen.toolchain import compile_c
from heapsmith.model.trace.edit.samples import Place, carried
from heapsmith.model.trace.events import Chunk, Op
from heapsmith.model.trace.frames import Samples
from heapsmith.model.trace.kinds import Kinds
from heapsmith.model.trace.reader import TraceReader, TraceWriter
from heapsmith.model.trace.stats import trace_info
from heapsmith.tools.common import resident_words
from heapsmith.tools.common.other_memory import OtherMemory
from heapsmith.tools.common.resident_series import Looks, Series
from heapsmith.tools.forge.report import _resident as resident_sentence
from heapsmith.tools.record.record import RecordResult, record

Call = Callable[..., Answer]
MIB = 1 << 20
CLOSE = 0.03
"""How far a kind may be from the truth."""
SMALL = 1.5 * MIB
"""What the other kinds of a small program have at most, but for files: libraries."""
TRUE = {
    "mapping": ("mappings", 64),
    "brk": ("mappings", 16),
    "array": ("static", 30),
    "written": ("static", 50),
    "stacks": ("stacks", 16 * 400 * 4096 / MIB),
    "file": ("files", 50),
    "shared": ("shared_memory", 40),
    "memfd": ("shared_memory", 40),
    "system_v": ("shared_memory", 40),
}
"""By program: the kind, and its MiB."""


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("resident kinds") / "resident_kinds"
    flags = ["-O1", "-fno-builtin", "-fno-optimize-sibling-calls", "-pthread"]
    compile_c([Path(__file__).parent / "programs/resident_kinds.c"], built, flags=flags)
    (built.parent / "data").write_bytes(b"x" * 50 * MIB)
    return built


@pytest.fixture
def answered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Looks tell the programs that they were looked at."""
    look = Series.look

    def tell(series: Series, pid: int, own: tuple[bytes, ...]) -> None:
        want = tmp_path / f"want.{pid}"
        is_wanted = want.exists()
        look(series, pid, own)
        if is_wanted:
            want.unlink()

    monkeypatch.setattr(Series, "look", tell)
    return tmp_path


def recorded(program: Path, folder: Path, kind: str, **options: Any) -> RecordResult:
    return record([str(program), kind, str(folder), str(program.parent / "data")], folder / "t.hst", **options)


def kinds_of(trace: str | Path) -> Kinds:
    with TraceReader(trace) as reader:
        samples = reader.footer.samples
    assert samples is not None
    assert samples.kinds is not None
    return samples.kinds


def at(kinds: Kinds, look: int) -> dict[str, int]:
    return {name: getattr(kinds, name)[look] for name in kinds.__struct_fields__}


@pytest.mark.parametrize("kind", TRUE)
def test_a_kind_is_told(kind: str, program: Path, answered: Path) -> None:
    recorded(program, answered, kind)
    kinds = kinds_of(answered / "t.hst")
    found = at(kinds, kinds.most_resident())
    name, true = TRUE[kind]
    files = ("files", "files_shared")
    assert found[name] == pytest.approx(true * MIB, rel=CLOSE, abs=SMALL / 4)
    others = {one: found[one] for one in kinds.RESIDENT if one != name and not (one in files and name in files)}
    assert max(size for one, size in others.items() if one not in files) < SMALL, others
    assert found["page_tables"] > 0


def test_malloc_has_what_nobody_asked_for(program: Path, answered: Path) -> None:
    """The blocks are freed but for the last, so that malloc keeps the pages."""
    recorded(program, answered, "blocks")
    kinds = kinds_of(answered / "t.hst")
    full, last = at(kinds, kinds.most_live()), at(kinds, len(kinds.time_ns) - 1)
    assert full["live"] == pytest.approx(40 * MIB, rel=CLOSE)
    for one in (full, last):
        assert one["malloc"] == pytest.approx(40 * MIB, rel=CLOSE)
        assert one["mappings"] < SMALL
    assert last["live"] < SMALL
    assert kinds.time_ns == sorted(kinds.time_ns)


def test_a_place_is_of_whoever_has_it_then(program: Path, answered: Path) -> None:
    """A mapping is gone before blocks come in its place."""
    recorded(program, answered, "in_turn")
    kinds = kinds_of(answered / "t.hst")
    mapping = max(range(len(kinds.time_ns)), key=lambda look: kinds.mappings[look])
    last = at(kinds, len(kinds.time_ns) - 1)
    assert kinds.mappings[mapping] == pytest.approx(64 * MIB, rel=CLOSE)
    assert (kinds.malloc[mapping] < SMALL, kinds.live[mapping] < SMALL) == (True, True)
    assert (last["malloc"], last["live"]) == (pytest.approx(32 * MIB, rel=CLOSE), pytest.approx(32 * MIB, rel=CLOSE))
    assert last["mappings"] < SMALL
    with TraceReader(answered / "t.hst") as reader:
        (chunk,) = list(reader)
    (born_ns,) = chunk.time_ns[chunk.size == 32 * MIB].tolist()
    assert kinds.time_ns[mapping] < born_ns < kinds.time_ns[-1]


def test_a_large_block_that_is_touched_here_and_there(program: Path, answered: Path) -> None:
    """The kernel makes one mapping of it and of the program's own."""
    recorded(program, answered, "sparse")
    found = at(kinds := kinds_of(answered / "t.hst"), kinds.most_resident())
    assert found["live"] == pytest.approx(200 * MIB, rel=CLOSE)
    assert found["malloc"] == pytest.approx(20 * MIB, rel=CLOSE)
    assert found["mappings"] == pytest.approx(10 * MIB, rel=CLOSE)


def test_a_fork_has_the_blocks_of_its_parent(program: Path, answered: Path) -> None:
    result = recorded(program, answered, "forked")
    assert len(result.traces) == 2
    parent, child = (at(kinds := kinds_of(one.path), len(kinds.time_ns) - 1) for one in result.traces)
    assert parent["malloc"] == pytest.approx(20 * MIB, rel=CLOSE)
    assert child["malloc"] == pytest.approx(25 * MIB, rel=CLOSE)
    assert child["live"] == pytest.approx(5 * MIB, rel=CLOSE)  # that its own trace has
    for one in (parent, child):
        assert one["mappings"] == pytest.approx(30 * MIB, rel=CLOSE)


def test_the_recorder_blames_no_program_for_itself(answered: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its tables of call stacks are anonymous memory, as the program's own mappings are."""
    monkeypatch.setenv("PYTHONMALLOC", "malloc")
    name = f"f'{answered}/want.{{os.getpid()}}'"
    job = f"import os, json, time, email.message; open({name}, 'w').close()"
    job += f"\nwhile os.path.exists({name}): time.sleep(.01)"
    record([sys.executable, "-c", job], answered / "t.hst", stacks=64)
    kinds = kinds_of(answered / "t.hst")
    last = at(kinds, len(kinds.time_ns) - 1)
    assert last["recorder"] > 2 * MIB
    assert last["mappings"] < MIB / 2


def test_a_process_of_a_wrapper_has_its_own_looks(program: Path, answered: Path) -> None:
    words = ["env", "A=1", str(program), "mapping", str(answered)]
    result = record(words, answered / "t.hst")
    for trace in result.traces:
        with TraceReader(trace.path) as reader:
            kinds = reader.footer.samples.kinds if reader.footer.samples else None
        is_program = trace.program[0] == str(program)
        most = max(kinds.mappings) if kinds else 0
        assert most == pytest.approx(64 * MIB * is_program, rel=CLOSE, abs=SMALL)


def test_what_is_said_of_it(call: Call, program: Path, answered: Path) -> None:
    result = recorded(program, answered, "mapping")
    (other,) = result.other_memory
    assert other.kinds["mappings"] == pytest.approx(64 * MIB, rel=CLOSE)
    assert "are none of malloc's, which gave " in other.sentence()
    assert "its own mappings 64.0 MiB" in other.sentence()
    out = call("trace", "info", answered / "t.hst").out
    (memory,) = re.findall(r"^memory +(\d.*(?:\n {10,}.*)*)", out, re.MULTILINE)
    assert "its own mappings 64.0 MiB" in " ".join(memory.split())
    assert "resident by kind, of " in out
    (verdict,) = resident_sentence(trace_info(answered / "t.hst"))
    assert re.fullmatch("While it was recorded, .* were resident at most[.] .* its own mappings 64.0 MiB.*[.]", verdict)
    told = json.loads(call("trace", "info", "--json", answered / "t.hst").out)
    assert msgspec.convert(told["samples"]["kinds"], Kinds) == kinds_of(answered / "t.hst")


def test_nobody_looked(call: Call, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As at a program that ends within milliseconds: no row, no failure, no empty table."""
    quick = [sys.executable, "-S", "-c", "pass"]
    assert record(quick, tmp_path / "q.hst").exit_status == 0
    monkeypatch.setattr(Looks, "look", lambda *_: None)
    result = record(quick, tmp_path / "t.hst")
    with TraceReader(tmp_path / "t.hst") as reader:
        samples = reader.footer.samples
    assert (samples is not None, samples and samples.kinds, result.other_memory) == (True, None, [])
    out = call("trace", "info", tmp_path / "t.hst").out
    assert ("by kind" in out, "\nmemory " in out) == (False, False)


# In the trace, and in words


def of_columns(**columns: list[int]) -> Kinds:
    size = len(columns["time_ns"])
    return Kinds(**{name: columns.get(name, [0] * size) for name in Kinds.__struct_fields__})


@pytest.mark.quick
def test_words() -> None:
    kinds = of_columns(time_ns=[-5, 7, 9], live=[1, 3 * MIB, 2 * MIB], malloc=[0, 4 * MIB, 4 * MIB], stacks=[1, 0, MIB])
    assert (kinds.most_resident(), kinds.most_live(), kinds.resident()) == (2, 1, [1, 4 * MIB, 5 * MIB])
    rest = "Malloc held 4.0 MiB. Of these, 2.0 MiB or less were live blocks. Others: stacks 1.0 MiB."
    assert resident_words.line(kinds, 5 * MIB) == f"5.0 MiB were resident at most. {rest}"
    missed = f"9.0 MiB were resident at most. The look with most found 5.0 MiB. {rest}"
    assert resident_words.line(kinds, 9 * MIB) == missed
    rows = {row[0]: row[1:] for row in resident_words.table(kinds).rows}
    assert rows["malloc"] == ("4.0 MiB", "4.0 MiB")
    assert rows["malloc, not asked for"] == ("2.0 MiB or more", "1.0 MiB or more")
    assert rows["resident"] == ("5.0 MiB", "4.0 MiB")
    one = of_columns(time_ns=[1], live=[MIB], malloc=[MIB])
    assert resident_words.line(one, MIB).endswith("Of these, 1.0 MiB or less were live blocks.")
    assert resident_words.table(one).title == "resident by kind, of 1 look"
    assert resident_words.table(one).rows[1] == ("malloc, not asked for", "-", "-")
    assert "stacks 1.0 MiB; no malloc" in OtherMemory(1, "p", 2 * MIB, MIB, {"stacks": MIB, "static": 0}).sentence()


@pytest.mark.quick
def test_readers_skip_what_they_do_not_know(tmp_path: Path) -> None:
    samples = Samples([], [(0, 5)], 5, [(1, 1)])
    fields = msgspec.to_builtins(samples)
    assert msgspec.convert({one: fields[one] for one in fields if one != "kinds"}, Samples) == samples
    assert msgspec.convert(fields | {"later": 3}, Samples) == samples
    kinds = msgspec.to_builtins(of_columns(time_ns=[1, 2]))
    assert msgspec.convert(fields | {"kinds": kinds | {"later": [1]}}, Samples).kinds == of_columns(time_ns=[1, 2])
    for wrong in ({"live": [1]}, {"stacks": [-1, 0]}, {name: [] for name in kinds}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(fields | {"kinds": kinds | wrong}, Samples)


@pytest.mark.quick
def test_what_tools_keep_of_it() -> None:
    kinds = of_columns(time_ns=[-2, 1, 5, 9], malloc=[1, 2, 3, 4])
    samples = Samples([], [], 0, [], kinds)

    def kept(place: Place, *, whole: bool = True, traces: int = 1) -> Kinds | None:
        found = carried([samples] * traces, [place] * traces, [], whole=whole)
        return found.kinds if found else None

    assert kept(Place()) == kinds
    assert kept(Place(begin_ns=-3)) == of_columns(time_ns=[-5, -2, 2, 6], malloc=[1, 2, 3, 4])
    assert kept(Place(begin_ns=-4, first_ns=4, last_ns=6)) == of_columns(time_ns=[1], malloc=[3])
    assert kept(Place(first_ns=6, last_ns=8)) is None
    assert kept(Place(), whole=False) is None
    assert kept(Place(), traces=2) is None


def test_a_trace_keeps_it(tmp_path: Path) -> None:
    kinds = of_columns(time_ns=[1, 2])
    with TraceWriter(tmp_path / "t.hst", command=["p"], source="test") as writer:
        writer.append(Chunk.of([Op.MALLOC], [0], [0], [8], [0], [0]))
        writer.close({"samples": Samples([], [], 0, [], kinds)})
    assert kinds_of(tmp_path / "t.hst") == kinds


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of a trace with looks, and of one without."""
    from heapsmith.tools.forge.page import write_report

    folder = tmp_path_factory.mktemp("page")
    zeros = [0] * 50
    kinds = of_columns(time_ns=[-9, 10, 20], live=[0, MIB, MIB], malloc=[0, MIB, MIB], stacks=[0, 3 * MIB, 2 * MIB])
    for name, its in (("looked", kinds), ("plain", None)):
        with TraceWriter(folder / f"{name}.hst", command=["p"], source="test") as writer:
            writer.append(Chunk.of([Op.MALLOC] * 50, zeros, range(50), [MIB // 50] * 50, zeros, range(50)))
            writer.close({"samples": Samples([], [], 0, [], its)})
    write_report(folder / "both.html", [folder / "looked.hst", folder / "plain.hst"], [])
    write_report(folder / "plain.html", [folder / "plain.hst"], [])
    return folder


def test_the_report_has_a_table_where_somebody_looked(page: Path) -> None:
    text = (page / "both.html").read_text()
    (section,) = re.findall('<section id="resident">.*?</section>', text, re.DOTALL)
    assert section.count("<table>") == 1
    assert "looked.hst: resident by kind, of 3 looks" in section
    assert '<td class="text">stacks</td><td>3.0 MiB</td><td>3.0 MiB</td>' in section
    assert 'href="#resident"' in text
    plain = (page / "plain.html").read_text()
    assert ('id="resident"' in plain, 'href="#resident"' in plain) == (False, False)


@pytest.mark.thorough
def test_the_report_draws_the_looks(page: Path) -> None:
    for browser in viewers.chromium():
        tab = browser.new_context(offline=True).new_page()
        said: list[str] = []
        tab.on("console", lambda message, said=said: said.append(message.text))
        tab.on("pageerror", lambda error, said=said: said.append(str(error)))
        tab.goto((page / "both.html").as_uri())
        tab.wait_for_selector("html[data-ready=yes]")
        told = tab.locator("#resident .told")
        assert told.inner_text() == "At 10 ns: 4.0 MiB resident: malloc 1.0 MiB, stacks 3.0 MiB; live blocks 1.0 MiB."
        tab.locator("#resident canvas").press("ArrowLeft")
        assert told.inner_text().startswith("At -9 ns: 0 B resident")
        tab.locator("#controls select").select_option("1")
        assert told.inner_text() == "Nobody looked at the memory of plain.hst."
        assert said == []
