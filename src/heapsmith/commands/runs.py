"""The commands that run programs and replays, and report: run, replay, report, forge, doctor."""

import glob
import os
import time as clock
from pathlib import Path
from typing import Annotated, Literal

import heapsmith
from heapsmith.api import show
from heapsmith.api.designs import models_of, paths_of
from heapsmith.api.programs import Compared, Report, price_of, stop_of
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands import profiles, results, results_sampled
from heapsmith.commands.options import COMMAND_LINE, Commands, Given, example, options_of
from heapsmith.commands.sites import By, Depth, Skip, Top, frames
from heapsmith.commands.standard import result
from heapsmith.model.errors import BadInput
from heapsmith.model.files import STANDARD

CLOCK_OF_FILES_NS = 20_000_000
"""By this much the time of a file may be before that of the process that wrote it."""

WORTH = "instances dollar_per_gb dollar_per_core"
"""The options of what a saving is worth."""

app = Commands()


@app.command(context_settings=COMMAND_LINE, epilog=example("run default -- python3 x.py", "run out/py/libpy.so -- ls"))
@options_of(heapsmith.compare, "library command stats everywhere", command=take.command_words)
def run(
    given: Given,
    library: Annotated[str, Argument("A library (.so), or a design to build.", "LIB|DESIGN")],
    stats: Annotated[
        str | None, Option("Write the heap's counters at exit; %p becomes the process id.", "FILE")
    ] = None,
    wait: take.Wait = False,
) -> int:
    """Run CMD with a library preloaded. A design is first built into the cache. The exit status is that of CMD."""
    from heapsmith.codegen.known import known
    from heapsmith.tools.compare.under import run_under

    path = take.library_file(library) or known(library) or _built(library)
    added = {} if stats is None else {"HEAPSMITH": take.with_stats(os.environ.get("HEAPSMITH", ""), stats)}
    began = clock.time_ns()
    status = run_under(
        path, given["command"], added, everywhere=given["everywhere"], wait=wait, of_memory=stats is not None, say=_warn
    )
    if stats is not None and not _is_written(stats, began):
        show.note(f"heapsmith: {stats}: not written: no process under the library ended in order")
    return status


def _built(design: str) -> Path:
    from heapsmith.codegen.built import library_of
    from heapsmith.codegen.known import remember
    from heapsmith.model.design.design import load

    return remember(design, library_of(load(design)))


def _warn(line: str) -> None:
    show.note(f"heapsmith: warning: {line}")


def _is_written(stats: str, since_ns: int) -> bool:
    """Whether a process wrote its counters, whose name has its number in place of %p."""
    name = "[0-9]*".join(map(glob.escape, stats.split("%p")))
    return any(os.stat(found).st_mtime_ns >= since_ns - CLOCK_OF_FILES_NS for found in glob.glob(name))


@app.command(
    epilog=example(
        "stats stats.json",
        "stats stats.json --csv > counts.csv",
        "stats malloc_info.xml",
        "stats jemalloc.json --profile jeprof.4711.0.f.heap",
    )
)
def stats(
    report: Annotated[
        Path, Argument("What `run --stats` or HEAPSMITH=stats=FILE wrote, or another malloc of itself.", "REPORT")
    ],
    profile: Annotated[
        Path | None, Option("A heap profile of jemalloc, beside its statistics of the same moment.", "DUMP")
    ] = None,
    by: By = "site",
    depth: Depth = None,
    skip: Skip = None,
    top: Top = 20,
    json: take.Json = False,
    csv: Annotated[bool, Option("Print the counters as CSV.")] = False,
) -> None:
    """Show the counters that a library wrote at exit: layers by class, locks and system calls.

    Counts of hits, locks and system calls need a design with `counting = "everything"`, such as `counting`. Of glibc's
    malloc_info, jemalloc's JSON, tcmalloc's MALLOCSTATS and mimalloc's statistics: what is held, what is free by class,
    and which settings may help. With --profile also whose live blocks share slabs with free ones, by call stack
    (docs/compare.md).
    """
    from heapsmith.model.toml_text import read_text
    from heapsmith.tools.common.counter_reports import as_csv, counts_of, tables
    from heapsmith.tools.common.tables import draw
    from heapsmith.tools.peers import statistics
    from heapsmith.tools.report import peer_statistics

    content = read_text(report, str(report))  # once: it may be a pipe
    if other := statistics.read_statistics(report, content):
        if csv:
            raise BadInput(f"{report}: --csv is of the counters of heapsmith's libraries; expected --json")
        if profile:
            from heapsmith.tools.sampled.fragmentation import with_stacks

            other = with_stacks(other, profile, by, frames(by, depth), skip or [])
            stacks = other.stacks
        other = statistics.used(other)
        if json:
            show.emit_json(other)
            return
        for words in peer_statistics.tables(other):
            draw(words)
        if profile:
            results_sampled.stacks(stacks, top)
        return
    if profile:
        raise BadInput(f"--profile {profile}: is of jemalloc's statistics; {report} has none")
    found = counts_of(report, content)
    if csv:
        show.text(as_csv(found))
    elif json:
        show.emit_json(found)
    else:
        for words in tables(found):
            draw(words)


@app.command(
    epilog=example(
        "top 4711",
        "top --lib default -- python3 x.py",
        "top 4711 --once --json --interval 0.2s",
        "top 4711 --prometheus /var/lib/prometheus/node-exporter/heap.prom --interval 15s",
    )
)
def top(
    target: Annotated[list[str], Argument("A process, or a command to start.", "PID | -- CMD")],
    lib: Annotated[str | None, Option("Preload it to CMD.", "LIB|DESIGN")] = None,
    interval: Annotated[str, Option("Time between two looks: 0.5s, 2s.", "TIME")] = "1s",
    once: Annotated[bool, Option("Print one look, with the rates of one interval.")] = False,
    openmetrics: Annotated[
        Path | None, Option("Write each look as OpenMetrics to FILE, whole or not at all; - prints it.", "FILE")
    ] = None,
    prometheus: Annotated[
        Path | None, Option("The same in Prometheus' text format, for a collector of text files.", "FILE")
    ] = None,
    classes: Annotated[bool, Option("Metrics also by size class.")] = False,
    json: Annotated[bool, Option("Print each look as a line of JSON.")] = False,
) -> int:
    """Show what the heap of a running process does: rates, bytes by class, memory, threads.

    The process, or one that descends from it, runs under a heapsmith library. It is read from outside and does not
    stop. CMD reads nothing, and its outputs go to /dev/null. It ends with the view; Ctrl-C ends both. The exit status
    is that of CMD if it ends first.
    """
    from heapsmith.tools.top.top import Shown, of_command, of_process

    if sum(map(bool, (json, openmetrics, prometheus))) > 1:
        raise BadInput("--json, --openmetrics and --prometheus: expected one of them")
    metrics = openmetrics or prometheus
    if metrics is not None and str(metrics) != STANDARD:
        metrics = take.writable_file(metrics)
    form: Literal["openmetrics", "prometheus"] = "openmetrics" if openmetrics else "prometheus"
    how = Shown(take.seconds("--interval", interval), once, json, metrics, form, classes)
    if len(target) == 1 and target[0].isdecimal():
        if lib is not None:
            raise BadInput("--lib: a library cannot be preloaded to a process that runs; expected -- CMD")
        return of_process(int(target[0]), how)
    return of_command(take.words_of_target(target, "the number of a process"), lib, how)


@app.command(epilog=example("replay py.hst --lib glibc --lib out/py/libpy.so", "replay py.hst --lib mimalloc --json"))
@options_of(heapsmith.compare, "trace libraries rounds check latency bytes")
def replay(
    given: Given,
    trace: take.Trace,
    rounds: take.Rounds = 5,
    check: Annotated[bool, Option("Check alignment and contents of every block first.")] = False,
    latency: Annotated[bool, Option("Then stamp each operation: p50, p99, p99.9 and the worst.")] = False,
    bytes: Annotated[bool, Option("Also what glibc's bytes are for at the peak of the live bytes.")] = False,
    json: take.Json = False,
) -> None:
    """Replay a trace with any malloc and measure it. Interleaved rounds: time per operation, peak RSS, their spread."""
    from heapsmith.tools.common.rounds import Stop
    from heapsmith.tools.replay.replay import replay as run_replay

    with show.progress() as progress:
        found = run_replay(
            trace,
            given["libraries"],
            stop=Stop(rounds),
            check=check,
            latency=latency,
            count_bytes=bytes,
            progress=progress,
        )
    show.emit_json(found) if json else results.replayed(found)


@app.command(
    context_settings=COMMAND_LINE,
    epilog=example(
        "compare --lib glibc --lib jemalloc --lib out/py/libpy.so -- python3 x.py",
        "compare --lib glibc --lib default --lib tuned.toml --rounds 9 --json -- ./server --self-test",
    ),
)
@options_of(Compared.worth, f"command libraries rounds seconds everywhere {WORTH}")
@options_of(heapsmith.compare, command=take.command_words, seconds=take.seconds)
def compare(given: Given, json: take.Json = False) -> int:
    """Run CMD under any mallocs and compare CPU and wall time, peak and average RSS, and output.

    Rounds go on until the intervals of CPU and peak RSS are under 2 %, for 60 s at most, but 5 at least. In each
    round CMD runs once under each malloc, in shuffled order, with /dev/null as its input. Ratios are to the first
    malloc. The exit status is 1 if the output or the exit status of CMD is another than under the first, or if a
    malloc does not serve the processes that do the work. With prices the last lines say what a saving is worth.
    """
    price = _price(given)
    with show.progress() as progress:
        found = heapsmith.compare(**given, progress=progress, say=show.note)
    worth = found.worth(**price) if price else None
    if json:
        show.emit_json(found.to_dict() | ({"worth": worth.details} if worth else {}))
    else:
        found.show()
        if worth:
            worth.show()
    return 0 if found.same_output else 1


def _price(given: Given) -> Given:
    """The prices, out of what is given; none if there are none. Wrong ones end the command before its work."""
    found = {name: given.pop(name) for name in WORTH.split() if name in given}
    if found.keys() <= {"instances"} and found.get("instances", 1) == 1:
        return {}
    price_of(**found)
    return found


@app.command(
    epilog=example(
        "report py.hst --design default --design tuned.toml -o report.html",
        "report out/py -o report.html",
        "report job.hst --format pprof -o job.pb.gz",
    )
)
@options_of(heapsmith.report)
def report(
    given: Given, form: profiles.PageForm = "html", weight: profiles.Weight = None, json: take.Json = False
) -> None:
    """Write one HTML page on traces, or on what a forge found: bytes over time, maps of addresses, sizes, the search.

    The page needs no network. --machine adds resident bytes. With another --format: a profile of the call stacks of a
    trace for a viewer, with what they pin under the designs (docs/other-tools.md).
    """
    if form != "html":
        return _stacks_of(given, form, weight, json)
    if weight:
        raise BadInput("--weight: is of profiles; expected --format with a profile's format")
    with show.progress() as progress:
        found = heapsmith.report(**given, progress=progress)
    show.emit_json(found.details) if json else found.show()


def _stacks_of(given: Given, form: str, weight: str | None, json: bool) -> None:
    """Write the stacks of a trace for a viewer, with what they pin under the designs of its page."""
    from heapsmith.model.memory.hardware import load_hardware
    from heapsmith.tools.forge.page import DESIGNS, Written
    from heapsmith.tools.profiles.made import of_sites
    from heapsmith.tools.sites.grouping import group_sites

    trace, *more = paths_of(given["sources"])
    if more or trace.is_dir():
        raise BadInput(
            f"{[trace, *more][-1]}: expected one trace with call stacks (record --stacks): a profile is of one"
        )
    if of_page := [name for name in ("series", "glibc") if given.get(name)]:
        raise BadInput(f"--{of_page[0]}: is of the page; expected --format html")
    chosen = profiles.chosen(form, Path(given["out"]), weight, json=False)
    hardware = load_hardware(given["machine"]) if "machine" in given else None
    designs = models_of(given.get("designs", DESIGNS))
    with show.progress() as progress:
        table = of_sites(group_sites(trace, depth=0), 1, designs, hardware=hardware, progress=progress)
        size = profiles.emit(table, chosen)
    found = Report(Written(str(chosen.out), size, [str(trace)], [one.name for one in designs]))
    with result(chosen.out):
        show.emit_json(found.details) if json else found.show()


@app.command(
    context_settings=COMMAND_LINE, epilog=example("forge -o out/perl -- perl x.pl", "forge -o out/gcc -- gcc -c big.c")
)
@options_of(Compared.worth, f"command out base favour budget max_overhead hold_out name rounds seconds {WORTH}")
@options_of(
    heapsmith.compare,
    "command out base favour budget max_overhead hold_out name rounds seconds",
    command=take.command_words,
    seconds=take.seconds,
)
@options_of(heapsmith.tune, "base favour budget max_overhead hold_out", budget=take.seconds)
def forge(
    given: Given,
    out: take.OutFolder,
    name: Annotated[str | None, Option("The design's name. Default: that of the folder.", "NAME")] = None,
    json: take.Json = False,
) -> None:
    """Make a malloc for CMD, prove it and measure it.

    The steps are record, tune, simulate, generate, build, verify, measure, replay. CMD runs several times, with
    /dev/null as its input. Its outputs are compared, not shown. What follows the search takes 30 s, unless --time or
    --rounds says otherwise, or building and proving or 5 rounds take longer, which a line says beforehand. The verdict
    says which malloc to use, and the last lines what to type next. Ctrl-C leaves a report on what is done.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.design.toml import design_name
    from heapsmith.model.search.asked import Asked
    from heapsmith.tools.forge import forge as smithy
    from heapsmith.tools.replay.finalists import replays

    design, stop = load(given["base"]), stop_of(given.get("rounds"), given.get("seconds"), 30.0)
    folder, price = take.writable_folder(out), _price(given)
    held = [Path(one) for one in given.get("hold_out", ())]
    with show.progress() as progress:
        asked = Asked(
            favour=given["favour"],
            seconds=given.get("budget"),
            max_overhead=given["max_overhead"],
            replays=replays(True, progress=progress),
        )
        report = smithy.forge(
            given["command"],
            folder,
            base=design,
            name=name or design_name(folder.absolute().name),
            order=smithy.Order(asked, stop, price_of(**price) if price else None, held),
            say=lambda step, what: show.note(f"[{step}/{smithy.STEPS}] {what}"),
            progress=progress,
        )
    show.emit_json(report) if json else results.forged(report)


@app.command(epilog=example("doctor", "doctor --json"))
def doctor(json: take.Json = False) -> int:
    """Say which tools this machine has and lacks. The exit status is 3 if an essential tool is absent."""
    from heapsmith.tools.report.doctor import doctor as examine

    found = examine()
    show.emit_json(found) if json else results.doctor(found)
    return 3 if found.lacking else 0
