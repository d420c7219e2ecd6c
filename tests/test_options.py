"""The environment variable HEAPSMITH: what each word does, and that nothing is ever printed but what was asked for."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from conftest import Answer
from loaded import checked_library

from heapsmith.codegen.build import FLAGS, NO_INTERPOSITION, build
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import build_tool
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.parts.counters import COUNTS, TOTALS
from heapsmith.tools.common.preload import preloadable

PROGRAMS = Path(__file__).parent / "programs"
DESIGN = load("default")
MOVES = 7


@cache
def program() -> Path:
    flags = ["-O1", "-Wall", "-Wextra", "-fno-builtin", "-rdynamic", "-pthread"]
    return build_tool("run_options", [PROGRAMS / "run_options.c"], flags)


def run(options: str, *words: str, library: Path | None = None) -> tuple[str, str]:
    """Output and errors of run_options under a library, by default that of the default design."""
    environment = {"LD_PRELOAD": preloadable(library or library_of(DESIGN)), "HEAPSMITH": options}
    command = [str(program()), *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, done.stderr


def one_report(text: str) -> dict[str, Any]:
    """The report that is one line of JSON, its design and its count of moves being right."""
    assert text.count("\n") == 1
    report: dict[str, Any] = json.loads(text)
    assert report["design"] == f"{DESIGN.name} {DESIGN.hash()}"
    assert report["counters"]["realloc_moved"] >= MOVES
    return report


@pytest.mark.parametrize("checked", [False, True])
def test_report_has_every_counter_under_the_models_name(checked: bool) -> None:
    out, errors = run("stats", library=checked_library(DESIGN) if checked else library_of(DESIGN))
    report = one_report(errors)
    uncounted = [] if checked else ["hit0", "push"]
    assert out == ""
    locks = ["locks"] if checked else []
    assert list(report) == ["design", "pid", "counters", "classes", *locks, "foreign", "rss_bytes", "peak_rss_bytes"]
    assert tuple(report["counters"]) == TOTALS
    assert report["counters"]["realloc_moved"] == MOVES
    for row, found in zip(make_plan(DESIGN).classes, report["classes"], strict=True):
        assert list(found) == ["size", "usable", *(name for name in COUNTS if name not in uncounted)]
        assert (found["size"], found["usable"]) == (row.size, row.usable)
    assert sum(found["refilled"] for found in report["classes"]) >= MOVES
    assert report["foreign"] == {"count": 0, "callers": []}
    assert 0 < report["counters"]["committed"] <= report["counters"]["committed_peak"]
    assert 1 << 16 < report["rss_bytes"] < 1 << 30
    assert report["rss_bytes"] <= report["peak_rss_bytes"]  # a child of fork begins with its parent's peak


@pytest.mark.thorough
def test_a_report_says_how_many_superslabs_each_class_keeps_hot() -> None:
    design = load("hot-superslabs")
    report = json.loads(run("stats", library=library_of(design))[1])
    found = report["hot_superslabs"]
    assert [one["size"] for one in found] == design.sizes
    used = [row["acquire"] > 0 for row in report["classes"]]
    assert True in used
    for hot, one in zip(used, found, strict=True):
        assert hot == (one["superslabs_hot"] > 0) == (one["superslabs_heated"] > 0)
        assert one["superslabs_hot"] <= min(design.slab_choice.most, one["superslabs_heated"])


def test_without_the_variable_nothing_is_printed() -> None:
    assert run("") == ("", "")


def test_a_file_for_each_process(tmp_path: Path) -> None:
    assert run(f"stats={tmp_path}/of.%p.json", "fork") == ("", "")
    reports = [one_report(path.read_text()) for path in tmp_path.iterdir()]
    assert len({report["pid"] for report in reports}) == 4
    assert {path.name for path in tmp_path.iterdir()} == {f"of.{report['pid']}.json" for report in reports}


def test_a_line_for_each_process() -> None:
    lines = run("stats", "fork")[1].splitlines(keepends=True)
    assert len({one_report(line)["pid"] for line in lines}) == 4


def test_an_earlier_report_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text("old\n" * 10_000)
    assert run(f"stats={path}") == ("", "")
    one_report(path.read_text())
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "absent" / "report.json"
    assert run(f"stats={path}") == ("", f'heapsmith: HEAPSMITH: cannot write "{path}"\n')


@pytest.mark.parametrize("name", ["USR1", "USR2"])
def test_a_report_on_a_signal(name: str, tmp_path: Path) -> None:
    one_report(run(f"stats-on={name}", name)[1])
    assert run(f"stats={tmp_path}/r.json,stats-on={name}", name) == ("", "")
    assert one_report((tmp_path / "r.json").read_text())["counters"]["realloc_moved"] == MOVES  # not the later ones


def test_a_report_on_a_signal_goes_into_no_file_that_is_opened_as_descriptor_2(tmp_path: Path) -> None:
    data = tmp_path / "data"
    one_report(run("stats-on=USR1", "USR1", str(data))[1])
    assert data.read_text() == ""


def test_a_report_on_a_signal_is_no_cancellation_point() -> None:
    out, report = run("stats-on=USR1", "cancel", "USR1")
    assert out == "survived\n"
    one_report(report)


def test_the_line_of_foreign_pointers_is_no_cancellation_point() -> None:
    out, line = run("foreign=0", "cancel")
    assert (out, line[:38]) == ("survived\n", "heapsmith: foreign pointers: 1 so far;")


def test_the_report_at_exit_waits_for_another_threads(tmp_path: Path) -> None:
    """That one sleeps until somebody reads the FIFO, which stands where its temporary file would be."""
    path = tmp_path / "r.json"
    fifo = tmp_path / "r.json.tmp~"
    os.mkfifo(fifo)
    environment = {"LD_PRELOAD": preloadable(library_of(DESIGN)), "HEAPSMITH": f"stats={path},stats-on=USR1"}
    with subprocess.Popen([program(), "slow"], env=environment, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"ends\n"
        time.sleep(0.02)
        assert process.poll() is None
        with fifo.open() as reader:
            one_report(reader.readline())
            assert process.wait(timeout=300) == 0
            one_report(reader.readline())  # that at exit, into what has the file's name now
    assert path.is_fifo()


def test_a_link_stays_and_leads_to_the_report(tmp_path: Path) -> None:
    """In another folder, to a file that is not there yet, by way of a second link; one that leads to itself is told."""
    (tmp_path / "other").mkdir()
    for name, target in (("old", "other/r.json"), ("new", "other/new.json"), ("second", "new"), ("itself", "itself")):
        (tmp_path / name).symlink_to(target)
    (tmp_path / "other/r.json").write_text("before")
    for name, target in (("old", "other/r.json"), ("second", "other/new.json")):
        assert run(f"stats={tmp_path / name}") == ("", "")
        one_report((tmp_path / target).read_text())
    assert run(f"stats={tmp_path}/itself") == ("", f'heapsmith: HEAPSMITH: cannot write "{tmp_path}/itself"\n')
    assert all(path.is_symlink() for path in tmp_path.iterdir() if path.name != "other")
    assert sorted(path.name for path in (tmp_path / "other").iterdir()) == ["new.json", "r.json"]


def test_a_pipe_is_written_and_not_waited_for(tmp_path: Path) -> None:
    """Neither without a reader nor with one that does not read until the pipe is full."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    told = ("", f'heapsmith: HEAPSMITH: cannot write "{fifo}"\n')
    assert run(f"stats={fifo}") == told
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    assert run(f"stats={fifo}") == ("", "")
    one_report(os.read(reader, 1 << 16).decode())
    assert told in [run(f"stats={fifo}") for _ in range(7)]
    os.close(reader)
    assert list(tmp_path.iterdir()) == [fifo]
    assert fifo.is_fifo()


def slowly_read(fifo: Path, reader: int) -> tuple[str, str]:
    """What comes of a report through a pipe that holds a third of it, and what the program says."""
    environment = {"LD_PRELOAD": preloadable(library_of(DESIGN)), "HEAPSMITH": f"stats={fifo}"}
    with subprocess.Popen([program()], env=environment, stderr=subprocess.PIPE, text=True) as process:
        found = b""
        while not found.endswith(b"\n"):
            time.sleep(0.05)
            ended, some = process.poll() is not None, os.read(reader, 4096)  # nothing: no writer has it open
            if ended and not some:
                break
            found += some
        return found.decode(), process.communicate(timeout=300)[1]


def test_a_slow_reader_of_a_pipe_gets_the_whole_report(tmp_path: Path) -> None:
    """One of five: on a machine that stands still for a second a reader is as one that does not read."""
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, 1031, 4096)  # F_SETPIPE_SZ
    os.set_blocking(reader, True)
    whole = (text for text, said in (slowly_read(fifo, reader) for _ in range(5)) if not said)
    one_report(next(whole))
    os.close(reader)


@pytest.mark.parametrize("name", ["/dev/fd/5", "/proc/self/cwd/r.json"])
def test_a_name_below_proc_is_written(name: str, tmp_path: Path) -> None:
    """A descriptor that the shell opened, and a file of the working folder."""
    words = ["sh", "-c", f"LD_PRELOAD='{preloadable(library_of(DESIGN))}' '{program()}' 5> five.json"]
    environment = os.environ | {"HEAPSMITH": f"stats={name}"}
    done = subprocess.run(words, env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=True)
    assert (done.stdout, done.stderr) == ("", "")
    one_report((tmp_path / ("five.json" if "fd" in name else "r.json")).read_text())


def test_a_file_that_standard_output_only_reads_is_replaced(tmp_path: Path) -> None:
    file = tmp_path / "r.json"
    file.write_text("old")
    words = ["sh", "-c", f"LD_PRELOAD='{preloadable(library_of(DESIGN))}' '{program()}' 1< r.json"]
    subprocess.run(words, env=os.environ | {"HEAPSMITH": "stats=r.json"}, cwd=tmp_path, timeout=300, check=True)
    one_report(file.read_text())


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_a_device_stays_a_device(tmp_path: Path) -> None:
    for name, minor, said in (("null", 3, ""), ("full", 7, "cannot write")):
        device = tmp_path / name
        try:
            os.mknod(device, 0o666 | stat.S_IFCHR, os.makedev(1, minor))
            device.open("w").close()
        except PermissionError:
            pytest.skip("expected the right to make devices")
        out, told = run(f"stats={device}")
        assert (out, said in told, bool(told)) == ("", True, bool(said))
        assert device.is_char_device()


@pytest.mark.parametrize("name", ["/dev/stdout", "/proc/self/fd/1", "log"])
def test_standard_output_takes_a_report_between_what_else_is_written(name: str, tmp_path: Path) -> None:
    environment = os.environ | {"HEAPSMITH": f"stats={name}"}
    words = ["sh", "-c", f"echo first; LD_PRELOAD='{preloadable(library_of(DESIGN))}' '{program()}'; echo last"]
    with (tmp_path / "log").open("w") as log:
        subprocess.run(words, env=environment, cwd=tmp_path, stdout=log, check=True, timeout=300)
    first, report, last = (tmp_path / "log").read_text().splitlines(keepends=True)
    assert (first, last) == ("first\n", "last\n")
    one_report(report)


OTHER_FILE = "import os, sys; os.close(1); os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT); os.write(1, b'data')"


def test_no_report_goes_into_a_file_that_the_program_opened_as_standard_output(tmp_path: Path) -> None:
    data = tmp_path / "data"
    environment = {"LD_PRELOAD": preloadable(library_of(DESIGN)), "HEAPSMITH": "stats=/dev/stdout"}
    words = [os.path.realpath(sys.executable), "-c", OTHER_FILE, str(data)]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=True, timeout=300)
    assert (done.stdout, done.stderr) == ("", 'heapsmith: HEAPSMITH: cannot write "/dev/stdout"\n')
    assert data.read_text() == "data"


def test_a_report_takes_no_descriptor_for_good(tmp_path: Path) -> None:
    """Of a program without standard input, where the next file that is opened gets descriptor 0."""
    looks = "import os, sys\nos.close(0)\nos.kill(os.getpid(), 10)\nprint(os.path.exists('/proc/self/fd/0'))"
    environment = {"LD_PRELOAD": preloadable(library_of(DESIGN))}
    for file in (tmp_path / "r.json", "/dev/null"):
        words = {"HEAPSMITH": f"stats={file},stats-on=USR1"}
        command = [os.path.realpath(sys.executable), "-c", looks]
        done = subprocess.run(command, env=environment | words, capture_output=True, text=True, timeout=300, check=True)
        assert (done.stdout, done.stderr) == ("False\n", "")


@pytest.mark.parametrize("word", ["stats", "metrics", "profile"])
def test_a_daemon_with_a_file_keeps_no_pipe_of_its_starter(word: str, tmp_path: Path) -> None:
    """Who reads its standard error meets the end as soon as the daemon has left it."""
    daemon = (
        "import os, sys\nif not os.fork():\n    [os.dup2(os.open('/dev/null', 2), n) for n in (0, 1, 2)]\n    input_()"
    )
    daemon = daemon.replace("input_()", "os.read(int(sys.argv[1]), 1)")
    waits, ends = os.pipe()
    os.set_inheritable(waits, True)
    library = library_of(load("sampled") if word == "profile" else DESIGN)
    environment = {"LD_PRELOAD": preloadable(library), "HEAPSMITH": f"{word}={tmp_path}/%p"}
    words = [os.path.realpath(sys.executable), "-c", daemon, str(waits)]
    with subprocess.Popen(words, env=environment, stderr=subprocess.PIPE, pass_fds=[waits]) as process:
        assert process.communicate(timeout=60)[1] == b""
    os.close(ends)
    os.close(waits)


def test_no_report_at_underscore_exit() -> None:
    assert run("stats", "_exit") == ("", "")


def test_an_exec_reads_the_variable_anew() -> None:
    assert one_report(run("stats", "exec")[1])["counters"]["realloc_moved"] == MOVES


def test_a_closed_stderr_still_gets_the_report() -> None:
    one_report(run("stats", "close")[1])


def test_a_report_goes_into_no_file_that_took_over_its_descriptor(tmp_path: Path) -> None:
    """Standard error being a file of the same file system as the one that the program opens under all descriptors."""
    data, errors = tmp_path / "data", tmp_path / "errors"
    environment = {"LD_PRELOAD": preloadable(library_of(DESIGN)), "HEAPSMITH": "stats"}
    with errors.open("w") as file:
        subprocess.run([program(), "reopen", data], env=environment, stderr=file, check=True)
    assert (data.read_text(), errors.read_text()) == ("", "")


def test_a_program_may_overwrite_its_environment(tmp_path: Path) -> None:
    assert run(f"stats={tmp_path}/r.json", "clobber") == ("", "")
    one_report((tmp_path / "r.json").read_text())


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ("stat", 'unknown word "stat"'),
        ("stats ", 'unknown word "stats "'),
        ("STATS", 'unknown word "STATS"'),
        ('a"b\n', r'unknown word "a\u0022b\u000a"'),
        ("foreign=3,", None),
        (",foreign=3", 'unknown word ""'),
        ("check=1", 'unknown word "check=1"'),
        ("stats=", 'bad value in "stats="'),
        (f"stats={'x' * 5000}", f'unknown word "stats={"x" * 121}"'),
        ("stats-on=", 'bad value in "stats-on="'),
        ("stats-on=HUP", 'bad value in "stats-on=HUP"'),
        ("stats-on=USR11", 'bad value in "stats-on=USR11"'),
        ("foreign", 'unknown word "foreign"'),
        ("foreign=", 'bad value in "foreign="'),
        ("foreign=-1", 'bad value in "foreign=-1"'),
        ("foreign=12x", 'bad value in "foreign=12x"'),
        ("foreign=99999999999999999999", 'bad value in "foreign=99999999999999999999"'),
        ("metrics", 'unknown word "metrics"'),
        ("metrics=", 'bad value in "metrics="'),
        ("metrics-every=", 'bad value in "metrics-every="'),
        ("metrics-every=1s", 'bad value in "metrics-every=1s"'),
        ("metrics-every=4294967296", 'bad value in "metrics-every=4294967296"'),
        ("sample=1000", 'bad value in "sample=1000"'),  # the design takes none
        ("sample-on=USR2", 'bad value in "sample-on=USR2"'),
        ("check", 'this library was not built with --checked: "check"'),
    ],
)
def test_a_word_that_is_none_is_one_line(options: str, complaint: str | None) -> None:
    expected = "" if complaint is None else f"heapsmith: HEAPSMITH: {complaint}\n"
    assert run(options) == ("", expected)


@pytest.mark.parametrize("value", ["", "HUP", "USR", "USR22", "USR2:", "USR2:0", "USR2:x", "USR2:68719476737"])
def test_a_signal_for_samples_that_is_none_is_one_line(value: str) -> None:
    complaint = f'heapsmith: HEAPSMITH: bad value in "sample-on={value}"\n'
    assert run(f"sample-on={value}", library=library_of(load("sampled"))) == ("", complaint)


def test_words_beside_a_wrong_one_count() -> None:
    complaint, report = run("x,stats,y=2")[1].split("{", 1)
    assert complaint == 'heapsmith: HEAPSMITH: unknown word "x"\nheapsmith: HEAPSMITH: unknown word "y=2"\n'
    one_report("{" + report)


def test_check_walks_the_heap_at_exit(tmp_path: Path) -> None:
    """The checked library without -Bsymbolic-functions: the program's own heapsmith_check stands before it."""
    flags = [flag for flag in FLAGS if flag not in ("-O2", "-g", NO_INTERPOSITION, "-Wl,-Bsymbolic-functions")]
    library = build(DESIGN, tmp_path / "open.so", checked=True, flags=flags)
    assert run("check", library=library) == ("checked\n", "")
    assert run("", library=library) == ("", "")
    assert run("check", library=checked_library(DESIGN)) == ("", "")


def test_run_writes_the_counters(tmp_path: Path) -> None:
    path = tmp_path / "counters.json"
    command = [sys.executable, "-m", "heapsmith", "run", "--stats", str(path), DESIGN.name, "--", str(program())]
    subprocess.run(command, check=True)
    assert one_report(path.read_text())["counters"]["realloc_moved"] == MOVES


def test_run_refuses_a_file_that_the_variable_cannot_name(call: Callable[..., Answer]) -> None:
    complaint = "heapsmith: a,b: HEAPSMITH takes no file with a comma in its name\n"
    assert call("run", "--stats", "a,b", "/no/library.so", "--", "true") == (2, "", complaint)
