"""Every mistake a user can make: one line on stderr that says what was expected, nothing on stdout, exit status 2."""

import json
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from conftest import Answer

Call = Callable[..., Answer]


DESIGN = 'name = "x"\nsizes = [16, 32, 64]\n'


def mistake(answer: Answer, *words: str) -> None:
    """The answer to a mistake names each of `words` in its one line."""
    assert answer.status == 2
    assert answer.out == ""
    assert re.fullmatch(r"heapsmith: [^\n]+\n", answer.err), answer.err
    for word in words:
        assert word in answer.err


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("colour = 3\n" + DESIGN, ["colour"]),
        ("slab_byte = 4096\n" + DESIGN, ["slab_byte", "slab_bytes"]),
        ('name = "x"\nsizes = [16, 64, 32]\n', ["sizes[2]", "32", "64", "ascending"]),
        ('name = "x"\nsizes = [16, 32, 32]\n', ["sizes[2]", "repeats"]),
        ('name = "x"\nsizes = [16, 40]\n', ["sizes[1]", "40", "multiple of 16"]),
        (DESIGN + '[front]\nkind = "array_stack"\ncapacity = 0\n', ["front.capacity", "0"]),
        (DESIGN + '[front]\nkind = "arraystack"\ncapacity = 8\n', ["arraystack", "did you mean 'array_stack'"]),
        ('classifier = "slabmap"\n' + DESIGN, ["classifier", "did you mean 'slab_map'"]),
        ("slab_bytes = 5000\n" + DESIGN, ["slab_bytes", "power of two"]),
        ("sizes = [16\n", ["not TOML"]),
        ('sizes = "16"\nname = "x"\n', ["sizes"]),
        ("sizes = [16]\n", ["name"]),
        ("sizes = " + "[" * 100_000, ["nested too deeply"]),
        ("sizes = [" + "1" * 5000 + "]", ["not TOML", "digits"]),
    ],
)
def test_designs_that_cannot_be(call: Call, tmp_path: Path, text: str, words: list[str]) -> None:
    file = tmp_path / "bad.toml"
    file.write_text(text)
    mistake(call("design", "check", file), "bad.toml", *words)
    mistake(call("build", file, "-o", tmp_path / "lib.so"), "bad.toml", *words)
    assert list(tmp_path.iterdir()) == [file]


def test_unknown_designs(call: Call) -> None:
    mistake(call("design", "show", "defalt"), "defalt", "did you mean 'default'")
    mistake(call("design", "check", "nosuch.toml"), "nosuch.toml", "No such file")


def test_a_forge_that_cannot_begin_makes_no_folder(call: Call, tmp_path: Path) -> None:
    mistake(call("forge", "-o", tmp_path / "new" / "out", "--base", "defalt", "--", "true"), "defalt")
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def damaged(trace: Path, tmp_path: Path) -> dict[str, Path]:
    """Files that are no whole traces of this version."""
    whole = trace.read_bytes()
    contents = {
        "truncated": whole[: len(whole) * 2 // 3],
        "version": whole[:8] + (7).to_bytes(4, "little") + whole[12:],
        "flipped": whole[: len(whole) // 2] + bytes([whole[len(whole) // 2] ^ 1]) + whole[len(whole) // 2 + 1 :],
        "other": b"#!/bin/sh\n" * 100,
        "empty": b"",
    }
    files = {name: tmp_path / f"{name}.hst" for name in contents}
    for name, file in files.items():
        file.write_bytes(contents[name])
    return files


def test_traces_that_cannot_be_read(call: Call, damaged: dict[str, Path], tmp_path: Path) -> None:
    expected = {"truncated": "chunk", "version": "version", "flipped": "chunk", "other": "not", "empty": "not"}
    for name, word in expected.items():
        mistake(call("trace", "verify", damaged[name]), str(damaged[name]), word)
        mistake(call("trace", "info", damaged[name]), str(damaged[name]), word)
        mistake(call("simulate", damaged[name], "--design", "default"), str(damaged[name]), word)
    mistake(call("trace", "print", damaged["version"]), "version", "7")
    mistake(call("tune", damaged["truncated"], "-o", tmp_path / "t.toml"), "truncated.hst")
    assert not (tmp_path / "t.toml").exists()
    mistake(call("replay", tmp_path / "no.hst", "--lib", "glibc"), "no.hst", "No such file")
    mistake(call("verify", "default", tmp_path / "no.hst"), "no.hst", "No such file")


def test_salvage_recovers_what_precedes_the_damage(call: Call, damaged: dict[str, Path], tmp_path: Path) -> None:
    out = tmp_path / "whole.hst"
    answer = call("trace", "verify", damaged["flipped"], "--salvage", out, "--json")
    if answer.status == 1:  # the flipped byte lies in the first chunk
        assert "no event precedes the damage, so no trace is written" in answer.err
        assert not out.exists()
        return
    report = json.loads(answer.out)
    assert report["damage"]
    assert report["events"] > 0
    assert json.loads(call("trace", "verify", out, "--json").out)["events"] == report["events"]


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (["1000", "2", "2", "1", "a 0 16", "f 1"], ["line 6", "1"]),
        (["1000", "2", "2", "1", "a 0 16", "x 0"], ["line 6", "x"]),
        (["1000", "2", "1", "1", "a 0"], ["line 5"]),
        (["1000", "2"], ["number of operations"]),
    ],
)
def test_malloc_lab_text_that_is_no_trace(call: Call, tmp_path: Path, lines: list[str], words: list[str]) -> None:
    source, out = tmp_path / "bad.rep", tmp_path / "out.hst"
    source.write_text("\n".join(lines) + "\n")
    mistake(call("trace", "import", source, "-o", out), "bad.rep", *words)
    assert not out.exists()


def test_commands_that_do_not_exist(call: Call, tmp_path: Path) -> None:
    out = tmp_path / "new" / "out"
    for start in (("record", "-o", out), ("forge", "-o", out), ("run", "default")):
        mistake(call(*start, "--", "no-such-program", "x"), "no-such-program", "no such command")
        mistake(call(*start, "--", tmp_path), str(tmp_path), "no such command")
    assert not out.parent.exists()


def test_outputs_that_cannot_be_written(call: Call, trace: Path, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    rep = tmp_path / "ok.rep"
    rep.write_text("1000\n1\n2\n1\na 0 16\nf 0\n")
    for folder in (tmp_path / "file" / "below", Path("/proc/nothing")):
        for arguments in (
            ("record", "-o", folder / "t.hst", "--", "true"),
            ("trace", "import", rep, "-o", folder / "t.hst"),
            ("trace", "verify", trace, "--salvage", folder / "t.hst"),
            ("tune", trace, "-o", folder / "t.toml"),
            ("generate", "default", "-o", folder),
            ("build", "default", "-o", folder / "lib.so"),
            ("forge", "-o", folder, "--", "true"),
        ):
            mistake(call(*arguments), str(folder), "cannot be written")
    mistake(call("build", "default", "-o", tmp_path), str(tmp_path), "cannot be written")
    absent = tmp_path / "absent"
    for arguments in (
        ("record", "-o", absent / "t.hst", "--", "true"),
        ("trace", "import", rep, "-o", absent / "t.hst"),
        ("trace", "filter", trace, "-o", absent / "t.hst"),
        ("trace", "export", trace, "-o", absent / "t.csv"),
        ("trace", "synth", "--like", trace, "-o", tmp_path / "t.hst", "--save-fit", absent / "fit.json"),
        ("tune", trace, "-o", absent / "t.toml"),
        ("build", "default", "-o", absent / "lib.so"),
        ("build", "default", "-o", tmp_path / "lib.so", "--header", absent / "heapsmith.h"),
        ("report", trace, "-o", absent / "report.html"),
        ("report", trace, "-o", tmp_path / "report.html", "--series", absent / "series.json"),
    ):
        mistake(call(*arguments), str(absent), "cannot be written", f"there is no folder {absent}")
    assert sorted(tmp_path.iterdir()) == [tmp_path / "file", rep]


def test_machines_that_cannot_be(call: Call, trace: Path) -> None:
    mistake(call("simulate", trace, "--machine", "toaster"), "toaster", "default, epyc and here")
    mistake(call("simulate", trace, "--births", "all"), "--births", "--machine")
    mistake(call("reuse", trace, "--deaths", "some"), "--deaths", "some", "ends")


@pytest.mark.parametrize("text", [b"l1 = " + b"[" * 100_000, b"name = '\xff'", b"cores = " + b"1" * 5000])
def test_machine_files_that_are_no_toml(call: Call, trace: Path, tmp_path: Path, text: bytes) -> None:
    (tmp_path / "machine.toml").write_bytes(text)
    mistake(call("simulate", trace, "--machine", tmp_path / "machine.toml"), "machine.toml", "not ")


@pytest.mark.parametrize(
    "arguments",
    ["nosuch", "trace", "trace nosuch", "record", "record -o x", "simulate", "forge -o x", "generate default"],
)
def test_wrong_usage(call: Call, arguments: str) -> None:
    """The line says where help is, or which command was meant (tests/test_hints.py)."""
    answer = call(*arguments.split())
    mistake(answer)
    assert "--help)" in answer.err or "; try: heapsmith " in answer.err


@pytest.mark.parametrize(("option", "value"), [("--name", "a/b"), ("--max-overhead", "nan")])
def test_a_forge_that_cannot_be_runs_nothing(call: Call, tmp_path: Path, option: str, value: str) -> None:
    mistake(call("forge", "-o", tmp_path / "out", option, value, "--", "touch", tmp_path / "ran"), value)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((":x",), "'x' is no weight"),
        ((":0",), "weight 0; expected above 0"),
        (("", "--budget", "soon"), "--budget soon: expected a time"),
        (("", "--max-time", "1.0"), "max time: '1.0'; expected a factor"),
        (("", "--max-rss", "lots"), "max rss: 'lots'; expected bytes"),
        (("", "--max-p999", "2"), "max p999: '2'; expected a time"),
        (("", "--max-p999", "0us"), "max p999: '0us'; expected a time above 0"),
        (("", "--cores", "0"), "--cores"),
        (("", "--cores", "4", "--replay"), "cores: expected no replays"),
        (("", "--hold-out", "absent.hst"), "absent.hst"),
    ],
)
def test_searches_that_cannot_be(call: Call, trace: Path, tmp_path: Path, words: Sequence[str], said: str) -> None:
    mistake(call("tune", f"{trace}{words[0]}", "-o", tmp_path / "t.toml", *words[1:]), said)


def test_numbers_out_of_range(call: Call, trace: Path, tmp_path: Path) -> None:
    mistake(call("tune", trace, "-o", tmp_path / "t.toml", "--max-overhead", "7"), "7")
    mistake(call("replay", trace, "--lib", "glibc", "--rounds", "0"), "rounds")
    mistake(call("replay", trace, "--lib", "glbc"), "did you mean glibc")


def test_outputs_that_are_no_plain_files(call: Call, trace: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    mistake(call("record", "-o", pipe, "--", "true"), "pipe", "not a plain file")
    mistake(call("tune", trace, "-o", pipe), "pipe", "not a plain file")
    assert pipe.is_fifo()
    mistake(call("record", "-o", trace / "x.hst", "--", "true"), trace.name, "not a directory")


def test_a_trace_is_not_salvaged_into_itself(call: Call, trace: Path) -> None:
    before = trace.read_bytes()
    mistake(call("trace", "verify", trace, "--salvage", trace), trace.name, "expected another file")
    assert trace.read_bytes() == before


def test_neither_library_nor_design(call: Call, tmp_path: Path) -> None:
    text = tmp_path / "text.txt"
    text.write_text("sizes of things\n")
    mistake(call("run", text, "--", "true"), "text.txt", "expected a library")


def test_misplaced_fields_and_missing_kinds(call: Call, tmp_path: Path) -> None:
    file = tmp_path / "bad.toml"
    file.write_text("capacity = 3\n" + DESIGN)
    mistake(call("design", "check", file), "unknown field 'capacity'", "front")
    file.write_text(DESIGN + "[front]\ncapacity = 3\n")
    mistake(call("design", "check", file), "front.kind: is missing", "array_stack")


def test_a_salvage_of_nothing_is_no_success(call: Call, trace: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.hst"
    cut.write_bytes(trace.read_bytes()[:1000])
    answer = call("trace", "verify", cut, "--salvage", tmp_path / "out.hst")
    assert answer.status == 1
    assert "no event precedes the damage, so no trace is written" in answer.err
    assert not (tmp_path / "out.hst").exists()
