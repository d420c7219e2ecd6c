"""Are the profiles of whole stacks what `sites`, `leaks` and `diff` say, to the byte, in each format?"""

import gzip
import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import firefox_profile
import msgspec
import pytest
import viewers
from conftest import Answer

from heapsmith.model.errors import BadInput
from heapsmith.model.trace.synth.fit import LivesFit
from heapsmith.model.trace.synth.profiles import fit_profile
from heapsmith.tools.profiles.formats import FORMATS, write_profile_file
from heapsmith.tools.profiles.table import Frame, Quantity, Stack, StackTable

Call = Callable[..., Answer]


@pytest.fixture(scope="module")
def traces(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return viewers.traces_of_program(tmp_path_factory.mktemp("paths"))


@pytest.fixture(scope="module")
def trace(traces: tuple[Path, Path]) -> Path:
    return traces[0]


def answered(answer: Answer) -> Any:
    assert answer.status == 0, answer.err
    return json.loads(answer.out)


def samples(call: Call, path: Path, *words: Any) -> tuple[list[str], list[tuple[list[str], list[int], dict[str, str]]]]:
    """The names of the quantities that a command writes for pprof, and of each sample its stack, values and labels."""
    pytest.importorskip("google.protobuf", reason="pprof's profiles are messages of protobuf")
    from heapsmith.model.trace.pprof_message import profile_class

    answer = call(*words, "--format", "pprof", "-o", path)
    assert answer.status == 0, answer.err
    message = profile_class().FromString(gzip.decompress(path.read_bytes()))
    text = list(message.string_table)
    assert text[0] == ""
    functions = {one.id: (text[one.name], text[one.filename]) for one in message.function}
    places = {}
    for one in message.location:
        [line] = one.line
        name, file = functions[line.function_id]
        places[one.id] = f"{name} ({file}:{line.line})" if line.line else f"{name} ({file})" if file else name
    found = []
    for one in message.sample:
        labels = {text[label.key]: text[label.str] for label in one.label}
        found.append(([places[place] for place in one.location_id], list(one.value), labels))
    return [text[one.type] for one in message.sample_type], found


def by_leaf(rows: Iterable[tuple[list[str], list[int], dict[str, str]]], place: int) -> Counter[str]:
    sums = Counter[str]()
    for stack, values, _ in rows:
        sums[stack[0]] += values[place]
    return +sums


def of_rows(found: Any, value: Callable[[Any], int]) -> Counter[str]:
    return +Counter({row["name"]: value(row) for row in found["sites"]})


FIGURES: dict[str, Callable[[Any], int]] = {
    "alloc_objects": lambda row: int(row["requests"]),
    "alloc_space": lambda row: int(row["bytes"]),
    "inuse_objects": lambda row: int(row["peak_blocks"]),
    "inuse_space": lambda row: int(row["peak_bytes"]),
    "temporary_objects": lambda row: int(row["temporary"]),
    "end_objects": lambda row: int(row["end_blocks"]),
    "end_space": lambda row: int(row["end_bytes"]),
    "pinned_default": lambda row: int(row["after"][0]["pinned"]),
    "waste_default": lambda row: int(row["after"][0]["pinned"] - row["after"][0]["block_bytes"]),
    "pinned_lean": lambda row: int(row["after"][1]["pinned"]),
    "waste_lean": lambda row: int(row["after"][1]["pinned"] - row["after"][1]["block_bytes"]),
}
"""What a quantity of a profile is in the JSON of `sites`."""


@pytest.mark.parametrize("by", [["--by", "site"], ["--by", "function"], ["--by", "site", "--depth", "2"]])
def test_pprof_has_the_figures_of_sites(call: Call, trace: Path, tmp_path: Path, by: list[str]) -> None:
    under = ("--design", "default", "--design", "lean", *by)
    found = answered(call("sites", trace, *under, "--json"))
    names, rows = samples(call, tmp_path / "p", "sites", trace, *under)
    assert len({tuple(stack) for stack, *_ in rows}) == len(rows)
    leaves = defaultdict(Counter[str])
    for name in (name for name in names if name != "lifetime"):
        leaves[name] = by_leaf(rows, names.index(name))
        expected = Counter[str]()
        for row, count in of_rows(found, FIGURES[name]).items():
            expected[row.partition(" < ")[0]] += count
        pages = [leaves[name].pop(one, 0) for one in ("[shared by several sites]", "[kept by no live block]")]
        assert leaves[name] == expected, name
        if name.startswith("pinned"):
            moment = found["designs"][name == "pinned_lean"]["after"]
            assert pages == [moment["shared"], moment["idle"]]
            assert sum(leaves[name].values()) + sum(pages) == moment["bytes"]
    assert len(leaves) == len(FIGURES)
    whole = [stack for stack, *_ in rows if len(stack) > 3]
    assert {stack[1].split()[0] for stack in whole if stack[0].startswith("make_node")} == {"left", "other", "right"}


def test_pages_of_several_paths_are_of_no_single_one(call: Call, trace: Path, tmp_path: Path) -> None:
    """Blocks of `left` and `right` share slabs, which the site keeps and neither path."""
    names, rows = samples(call, tmp_path / "p", "sites", trace)
    several = [(stack[0], values) for stack, values, _ in rows if stack[-1] == "[several call paths]"]
    assert several
    place = names.index("pinned_default")
    assert all(values[place] > 0 and not any(values[: names.index("lifetime")]) for _, values in several)
    paths = answered(call("sites", trace, "--by", "path", "--json"))
    own = of_rows(paths, FIGURES["pinned_default"])
    assert sum(own.values()) == sum(
        values[place] for stack, values, _ in rows if stack[-1] not in ("[several call paths]", *LAST)
    )


LAST = ("[shared by several sites]", "[kept by no live block]")


def test_moments_that_were_asked_for(call: Call, trace: Path, tmp_path: Path) -> None:
    at = ("--at", "100", "--at", "900")
    found = answered(call("sites", trace, *at, "--no-advice", "--json"))
    names, rows = samples(call, tmp_path / "p", "sites", trace, *at)
    for number, event in enumerate((100, 900)):
        leaves = by_leaf(rows, names.index(f"pinned_default_{event}"))
        for name in LAST:
            leaves.pop(name, None)
        assert leaves == of_rows(found, lambda row, number=number: int(row["at"][number][0]["pinned"]))  # type: ignore[misc]


def test_leaks_are_the_blocks_live(call: Call, trace: Path, tmp_path: Path) -> None:
    for at in ([], ["--at", "2000"]):
        found = answered(call("leaks", trace, *at, "--json"))
        names, rows = samples(call, tmp_path / "p", "leaks", trace, *at)
        assert names == ["inuse_objects", "inuse_space"]
        for name, field in zip(names, ("blocks", "bytes"), strict=True):
            expected = Counter({leak["name"]: leak[field] for leak in found["leaks"]})
            assert by_leaf(rows, names.index(name)) == expected


def test_a_difference_has_negative_values_of_the_first(call: Call, traces: tuple[Path, Path], tmp_path: Path) -> None:
    found = answered(call("diff", *traces, "--json"))
    names, rows = samples(call, tmp_path / "p", "diff", *traces)
    base = [row for row in rows if row[2] == {"pprof::base": "true"}]
    after = [row for row in rows if not row[2]]
    assert len(base) + len(after) == len(rows) > len(base) > 0
    assert all(max(values) <= 0 for _, values, _ in base)
    for name in ("alloc_space", "end_objects"):
        for side, row in ((1, after), (-1, base)):
            sums = Counter[str]()
            for stack, values, _ in row:
                sums[stack[0].partition(" (")[0]] += side * values[names.index(name)]
            field = {"alloc_space": "bytes", "end_objects": "end_blocks"}[name]
            which = "second" if side > 0 else "first"
            assert +sums == +Counter({pair["name"]: pair[which][field] for pair in found["sites"]})


@pytest.mark.thorough
def test_collapsed_stacks(call: Call, traces: tuple[Path, Path]) -> None:
    found = answered(call("sites", traces[0], "--json"))
    for words, name in (((), "inuse_space"), (("--weight", "alloc_objects"), "alloc_objects")):
        answer = call("sites", traces[0], "--format", "collapsed", *words)
        sums = Counter[str]()
        for line in answer.out.splitlines():
            stack, _, value = line.rpartition(" ")
            sums[stack.rpartition(";")[2]] += int(value)
        assert sums == of_rows(found, FIGURES[name])
    change = call("diff", *traces, "--format", "collapsed", "--weight", "alloc_objects").out.splitlines()
    both = {stack.rpartition(";")[2]: (int(a), int(b)) for stack, a, b in (line.rsplit(" ", 2) for line in change)}
    assert both["table"] == (1, 1)
    right = [line.rsplit(" ", 2)[1:] for line in change if ";right;" in line]
    assert right == [["3000", "2700"]]


def live_stacks(call: Call, trace: Path) -> Counter[tuple[str, ...]]:
    """The functions of each stack with bytes live at the peak, the innermost first, by the collapsed stacks."""
    sums = Counter[tuple[str, ...]]()
    for line in call("sites", trace, "--format", "collapsed").out.splitlines():
        stack, _, value = line.rpartition(" ")
        sums[tuple(frame.partition(" (")[0] for frame in reversed(stack.split(";")))] += int(value)
    assert len(sums) > 3
    return sums


@pytest.mark.thorough
def test_speedscope_has_a_profile_per_quantity(call: Call, traces: tuple[Path, Path]) -> None:
    found = answered(call("sites", traces[0], "--json"))
    made = answered(call("sites", traces[0], "--format", "speedscope"))
    frames = [
        f"{one['name']} ({one['file']}:{one['line']})" if "line" in one else one["name"]
        for one in made["shared"]["frames"]
    ]
    names = [one["name"].partition(":")[0] for one in made["profiles"]]
    assert names[made["activeProfileIndex"]] == "inuse_space"
    for name, one in zip(names, made["profiles"], strict=True):
        assert sum(one["weights"]) == one["endValue"] - one["startValue"]
        sums = Counter[str]()
        for stack, weight in zip(one["samples"], one["weights"], strict=True):
            sums[frames[stack[-1]]] += weight
        if name in ("alloc_space", "inuse_objects"):
            assert sums == of_rows(found, FIGURES[name])
    usual, whole = made["profiles"][made["activeProfileIndex"]], Counter[tuple[str, ...]]()
    for stack, weight in zip(usual["samples"], usual["weights"], strict=True):
        whole[tuple(frames[number].partition(" (")[0] for number in reversed(stack))] += weight
    assert whole == live_stacks(call, traces[0])
    change = answered(call("diff", *traces, "--format", "speedscope"))
    sides = [one["name"].partition(":")[0] for one in change["profiles"]]
    assert sides[:2] == ["alloc_objects before", "alloc_objects after"]
    assert sides[change["activeProfileIndex"]] == "inuse_space after"


def test_dhat_has_the_lives_of_each_stack(call: Call, trace: Path, tmp_path: Path) -> None:
    paths = answered(call("sites", trace, "--by", "path", "--no-advice", "--json"))
    made = answered(call("sites", trace, "--format", "dhat"))
    assert (made["te"], made["tg"]) == (paths["events"], paths["peak_event"])
    names = [re.fullmatch(r"0x0: (\S+) \((?:in )?(.+)\)", frame) for frame in made["ftbl"][1:]]
    assert all(names)
    fields = {"tb": "bytes", "tbk": "requests", "mb": "most_bytes", "mbk": "most_blocks", "gb": "peak_bytes"}
    fields |= {"gbk": "peak_blocks", "eb": "end_bytes", "ebk": "end_blocks"}
    expected = sorted([row[name] for name in fields.values()] for row in paths["sites"])
    assert sorted([point[field] for field in fields] for point in made["pps"]) == expected
    whole = Counter[tuple[str, ...]]()
    for point in made["pps"]:
        whole[tuple(str(made["ftbl"][frame]).split()[1] for frame in point["fs"])] += point["gb"]
    assert +whole == live_stacks(call, trace)
    lives = sorted(round(row["life_events"] * row["requests"]) for row in paths["sites"])
    assert sorted(point["tl"] for point in made["pps"]) == lives
    assert all(0 < frame < len(made["ftbl"]) for point in made["pps"] for frame in point["fs"])
    (tmp_path / "dhat.json").write_text(json.dumps(made))
    fit = fit_profile(tmp_path / "dhat.json")  # heapsmith's own reader of DHAT
    assert isinstance(fit, LivesFit)
    assert sum(blocks.weight for blocks in fit.phases[0].blocks) == sum(row["requests"] for row in paths["sites"])


def test_firefox_retains_what_is_live(call: Call, trace: Path) -> None:
    """Its format by its types; and what remains of its balanced allocations."""
    found = answered(call("sites", trace, "--json"))
    made = msgspec.json.decode(call("sites", trace, "--format", "firefox").out.encode(), type=firefox_profile.Profile)
    for table in (*made.shared.__struct_fields__, "samples", "markers", "nativeAllocations"):
        for holder in (made.shared, *made.threads):
            of = getattr(holder, table, None)
            if isinstance(of, msgspec.Struct):
                columns = [one for one in msgspec.structs.asdict(of).values() if isinstance(one, list)]
                assert {len(column) for column in columns} == {of.length}, table  # type: ignore[attr-defined]
    names = [thread.name.partition(":")[0] for thread in made.threads]
    assert names[0] == "inuse_space"
    assert {*names} == {name for name in FIGURES if name.endswith(("_space", "_default"))}
    whole = Counter[tuple[str, ...]]()
    for stack, weight in made.retained(made.threads[0]):
        whole[tuple(frame.partition(" (")[0] for frame in stack)] += weight
    assert whole == live_stacks(call, trace)
    for name, thread in zip(names, made.threads, strict=True):
        sums = Counter[str]()
        for stack, weight in made.retained(thread):
            sums[stack[0]] += weight
        for row, count in of_rows(found, FIGURES[name]).items():
            assert sums[row if "+" not in row else row.partition(" (")[0]] == count
        asked = sum(max(0, weight) for weight in thread.nativeAllocations.weight)
        if name in ("inuse_space", "end_space"):
            assert asked == sum(row["bytes"] for row in found["sites"])


def test_perfetto_heaps(call: Call, trace: Path, tmp_path: Path) -> None:
    protos = pytest.importorskip("perfetto.protos.perfetto.trace.perfetto_trace_pb2", reason="its messages")
    found = answered(call("sites", trace, "--json"))
    assert call("sites", trace, "--format", "perfetto", "-o", tmp_path / "p").status == 0
    process, packet = protos.Trace.FromString((tmp_path / "p").read_bytes()).packet
    assert process.track_descriptor.process.process_name == str(trace)
    data = packet.interned_data
    functions = {one.iid: one.str.decode() for one in data.function_names}
    files = {one.iid: one.str.decode() for one in data.source_paths}
    frames = {one.iid: one for one in data.frames}
    assert {one.mapping_id for one in data.frames} <= {one.iid for one in data.mappings}
    leaf = {one.iid: frames[one.frame_ids[-1]] for one in data.callstacks}
    heaps = {one.heap_name: one for one in packet.profile_packet.process_dumps}
    assert next(iter(heaps)) == "inuse_space"
    for name in ("inuse_space", "end_space", "alloc_space", "pinned_default", "waste_default"):
        sums = Counter[str]()
        for sample in heaps[name].samples:
            of = leaf[sample.callstack_id]
            where = f"{files[of.source_path_iid]}:{of.line_number}" if of.line_number else files.get(of.source_path_iid)
            sums[f"{functions[of.function_name_id]} ({where})"] += sample.self_allocated - sample.self_freed
        expected = of_rows(found, FIGURES[name])
        assert expected.items() <= sums.items()
    stacks = {
        one.iid: tuple(functions[frames[frame].function_name_id] for frame in reversed(one.frame_ids))
        for one in data.callstacks
    }
    whole = Counter[tuple[str, ...]]()
    for sample in heaps["inuse_space"].samples:
        whole[stacks[sample.callstack_id]] += sample.self_allocated - sample.self_freed
    assert +whole == live_stacks(call, trace)
    blocks = sum(sample.alloc_count - sample.free_count for sample in heaps["inuse_space"].samples)
    assert blocks == found["peak_blocks"]
    assert sum(sample.alloc_count for sample in heaps["inuse_space"].samples) == sum(
        row["requests"] for row in found["sites"]
    )


def test_otlp_profiles(call: Call, trace: Path, tmp_path: Path) -> None:
    messages = pytest.importorskip("opentelemetry.proto.profiles.v1development.profiles_pb2", reason="its messages")
    found = answered(call("sites", trace, "--json"))
    assert call("sites", trace, "--format", "otlp", "-o", tmp_path / "p").status == 0
    whole = messages.ProfilesData.FromString((tmp_path / "p").read_bytes())
    [resource] = whole.resource_profiles
    [scope] = resource.scope_profiles
    of, text = whole.dictionary, whole.dictionary.string_table
    tables = (of.mapping_table, of.location_table, of.stack_table, of.link_table)
    assert all(not table[0].ByteSize() for table in tables)
    assert len({one.profile_id for one in scope.profiles}) == len(scope.profiles)
    shown = {text[one.sample_type.type_strindex]: one for one in scope.profiles}
    assert next(iter(shown)) == "inuse_space"
    whole = Counter[tuple[str, ...]]()
    for sample in shown["inuse_space"].samples:
        places = [of.location_table[place] for place in of.stack_table[sample.stack_index].location_indices]
        names = (text[of.function_table[place.lines[0].function_index].name_strindex] for place in places)
        whole[tuple(names)] += sample.values[0]
    assert whole == live_stacks(call, trace)
    for name in FIGURES.keys() & shown.keys():
        sums = Counter[str]()
        for sample in shown[name].samples:
            place = of.location_table[of.stack_table[sample.stack_index].location_indices[0]]
            function = of.function_table[place.lines[0].function_index]
            where, line = text[function.filename_strindex], place.lines[0].line
            sums[f"{text[function.name_strindex]} ({where}:{line})" if line else f"({where})"] += sample.values[0]
        assert {row: n for row, n in of_rows(found, FIGURES[name]).items() if "+" not in row}.items() <= sums.items()


@pytest.mark.thorough
def test_formats_take_leaks(call: Call, trace: Path, tmp_path: Path) -> None:
    """All but DHAT, which needs lives and says where they are."""
    for name in FORMATS:
        answer = call("leaks", trace, "--format", name, "-o", tmp_path / name)
        if name == "dhat":
            assert answer.status == 2
            assert "--format dhat: it needs alloc_space, " in answer.err
        elif answer.status != 3:  # its package is missing
            assert answer.status == 0, answer.err
            assert (tmp_path / name).stat().st_size > 0


def table_of(stacks: dict[Stack, list[int]], before: dict[Stack, list[int]] | None = None) -> StackTable:
    quantities = [Quantity("inuse_objects", "count", "blocks"), Quantity("inuse_space", "bytes", "bytes")]
    return StackTable("t", "inuse_space", quantities, stacks, before, [], [])


def test_odd_names_stay_one_frame(tmp_path: Path) -> None:
    odd = Frame("a;b c 7", "a;b c 7", "x y.c", 3, "m")
    write_profile_file(table_of({(odd, odd): [1, 5]}), "collapsed", tmp_path / "c")
    assert (tmp_path / "c").read_text() == "a,b c 7;a,b c 7 5\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("sites", "--format", "pprof", "--weight", "bytes"),
            "--weight bytes: no such quantity; expected one of alloc_",
        ),
        (("sites", "-o", "x"), "-o: is of profiles"),
        (("leaks", "--json", "--weight", "x"), "--weight: is of profiles"),
        (("sites", "--json", "--format", "pprof"), "--json: with --format pprof"),
        (("report", "--weight", "x", "-o", "x"), "--weight: is of profiles"),
        (("report", "--format", "dhat", "--glibc", "-o", "x"), "--glibc: is of the page; expected --format html"),
        (("report", ".", "--format", "dhat", "-o", "x"), ".: expected one trace with call stacks (record --stacks)"),
        (("leaks", "--format", "pprof", "-o", "no/x"), "no/x: cannot be written: there is no folder no"),
    ],
)
def test_mistakes_get_a_line(
    call: Call, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    answer = call(words[0], trace, *words[1:])
    assert (answer.status, answer.out) == (2, "")
    assert said in answer.err
    assert list(tmp_path.iterdir()) == []


def test_a_format_without_differences_refuses_one(tmp_path: Path) -> None:
    frame = Frame("f", "f", "", 0, "m")
    for name, one in FORMATS.items():
        if not one.has_differences:
            with pytest.raises(BadInput, match=f"--format {name}: it holds no differences; expected one of html"):
                write_profile_file(table_of({(frame,): [1, 5]}, {(frame,): [1, 4]}), name, tmp_path / "p")
