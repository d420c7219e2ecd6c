"""The command table: what each command takes, whom it asks, how it shows the answer."""

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

import heapsmith
from heapsmith import arguments as take
from heapsmith import exits, results, show
from heapsmith.model.errors import BadInput, CheckFailed

# What needs numpy or numba is imported inside the commands: help and completion must not wait for it.

COMMAND_LINE = {"allow_interspersed_args": False}

app = typer.Typer(
    name="heapsmith",
    help="Make malloc for a workload: record, simulate, tune, generate C, prove it, preload it.",
    epilog="Start with:  heapsmith forge -o out -- CMD...    (then see out/report.md)",
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
trace_app = typer.Typer(help="Look at traces, check them, make them from other formats.", rich_markup_mode=None)
design_app = typer.Typer(help="Look at designs and check them.", rich_markup_mode=None)
app.add_typer(trace_app, name="trace")
app.add_typer(design_app, name="design")


def _version(wanted: bool) -> None:
    if wanted:
        print(f"heapsmith {heapsmith.__version__}")
        raise typer.Exit()


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    pass


@app.command(context_settings=COMMAND_LINE, epilog=take.example("record -o py.hst -- python3 -c 'print(1)'"))
def record(
    command: take.Cmd,
    out: take.OutFile,
    only: Annotated[bool, typer.Option("--only", help="Keep the busiest process's trace alone.")] = False,
    json: take.Json = False,
) -> int:
    """Run CMD under the recorder: a trace of its busiest process, and one beside it for each other.

    The exit status is CMD's, as are the standard streams until it ends; with --json its output goes to standard error.
    """
    from heapsmith.bench.record import record as run_recorded

    with show.progress() as progress:
        found = run_recorded(
            take.command_words(command),
            take.writable_file(out),
            all_processes=not only,
            stdout=sys.stderr.fileno() if json else None,
            progress=lambda done, total: progress("ordering events", done, total),
        )
    show.emit_json(found) if json else results.recorded(found)
    return found.exit_status


@trace_app.command("info", epilog=take.example("trace info py.hst"))
def trace_info(trace: take.Trace, json: take.Json = False) -> None:
    """Events, threads, sizes, lifetimes, peak live bytes and cross-thread frees of a trace."""
    from heapsmith.model.trace_stats import trace_info as look

    with show.progress() as progress:
        found = look(trace, progress=progress)
    show.emit_json(found) if json else results.trace_info(found)


@trace_app.command("print", epilog=take.example("trace print py.hst --first 1000 --count 20"))
def trace_print(
    trace: take.Trace,
    first: Annotated[int, typer.Option(help="The number of the first event.", min=0)] = 0,
    count: Annotated[int | None, typer.Option(help="How many events; all without it.", min=0)] = None,
) -> None:
    """The events as text: number, time in ns, thread, operation, block, size, alignment."""
    from heapsmith.model.trace import print_events

    print_events(trace, sys.stdout, first, count)


@trace_app.command("verify", epilog=take.example("trace verify py.hst", "trace verify broken.hst --salvage whole.hst"))
def trace_verify(
    trace: take.Trace,
    salvage: Annotated[
        Path | None, typer.Option(metavar="OUT", help="Write what precedes the damage as a whole trace.")
    ] = None,
    json: take.Json = False,
) -> None:
    """Check every checksum and rule of a trace; with --salvage, recover what precedes the damage."""
    from heapsmith.model.trace import salvage as recover
    from heapsmith.model.trace import verify as check

    if salvage is None:
        whole = check(trace)
        show.emit_json(whole) if json else show.struct(whole)
        return
    if salvage.exists() and salvage.samefile(trace):
        raise BadInput(f"{salvage}: is the trace to salvage; expected another file")
    found = recover(trace, take.writable_file(salvage))
    show.emit_json(found) if json else show.struct(found)
    if found.damage and found.events == 0:
        raise CheckFailed(f"{trace}: nothing precedes the damage: {salvage} is an empty trace")


@trace_app.command("import", epilog=take.example("trace import realloc-bal.rep -o realloc.hst"))
def trace_import(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="CS:APP malloc-lab text (.rep).", show_default=False)],
    out: take.OutFile,
    json: take.Json = False,
) -> None:
    """Make a trace of a malloc-lab .rep file."""
    from heapsmith.model.trace_import import import_rep

    found = import_rep(source, take.writable_file(out))
    show.emit_json(found) if json else show.struct(found)


@app.command(epilog=take.example("designs", "designs --json"))
def designs(json: take.Json = False) -> None:
    """List the built-in designs."""
    from heapsmith.model.design import builtin_names, load

    found = [load(name) for name in builtin_names()]
    show.emit_json(found) if json else results.designs(found)


@design_app.command("show", epilog=take.example("design show default", "design show tuned.toml --json"))
def design_show(design: take.Name, json: take.Json = False) -> None:
    """Every derived number of a design; with --json the whole plan, as `generate` writes it."""
    from heapsmith.model.design import load
    from heapsmith.model.plan import make_plan, plan_json

    plan = make_plan(load(design))
    sys.stdout.write(plan_json(plan).decode()) if json else results.plan(plan)


@design_app.command("check", epilog=take.example("design check tuned.toml"))
def design_check(design: take.Name, json: take.Json = False) -> None:
    """Say whether a design is legal; if not, why, with the field's path."""
    from heapsmith.model.design import load

    found = load(design)
    checked = {"name": found.name, "hash": found.hash(), "classes": len(found.sizes)}
    show.emit_json(checked) if json else show.fields(checked.items())


@design_app.command("schema", epilog=take.example("design schema > design.schema.json"))
def design_schema() -> None:
    """The JSON Schema of a design file, for editors."""
    from heapsmith.model.design import schema

    show.emit_json(schema())


@app.command(epilog=take.example("generate default -o out/c", "generate out/py/design.toml -o out/py/c --check"))
def generate(
    design: take.Name,
    out: take.OutFolder,
    check: Annotated[bool, typer.Option("--check", help="Compare with what is there; write nothing.")] = False,
    json: take.Json = False,
) -> None:
    """Write the C of a design, heapsmith.h for programs, plan.json and a MANIFEST of hashes."""
    from heapsmith.codegen.generate import generate as emit
    from heapsmith.model.design import load

    found = emit(load(design), out if check else take.writable_folder(out), check=check)
    show.emit_json(found) if json else results.generated(found, check)


@app.command(epilog=take.example("build default -o libheap.so --header heapsmith.h", "build py.toml -o py.a --static"))
def build(
    design: take.Name,
    out: take.OutFile,
    checked: Annotated[bool, typer.Option("--checked", help="Assert the machine's equations at run time.")] = False,
    static: Annotated[bool, typer.Option("--static", help="An archive (.a) to link in.")] = False,
    header: take.Header = None,
    json: take.Json = False,
) -> None:
    """Compile a design's library with GCC: to preload, to link with -l, or with --static to link in."""
    from heapsmith.bench.whole_file import write_whole
    from heapsmith.codegen import generate as emitted
    from heapsmith.codegen.build import build as compile_library
    from heapsmith.model.design import load

    found = load(design)
    if header is not None:
        write_whole(take.writable_file(header), emitted.contents(found)[emitted.HEADER])
    built = compile_library(found, take.writable_file(out), checked=checked, static=static)
    show.emit_json({"design": found.name, "hash": found.hash(), "library": str(built)}) if json else print(built)


@app.command(epilog=take.example("verify default", "verify out/py/design.toml out/py/trace.hst"))
def verify(
    design: take.Name,
    traces: Annotated[list[Path] | None, typer.Argument(metavar="[TRACE]...", help="Traces (.hst).")] = None,
    json: take.Json = False,
) -> int:
    """Audit the emitted C of a design, then hold its library against the model on each trace.

    Every counter and every address must agree; the exit status is 1 if anything differs.
    """
    from heapsmith.codegen.verify import verify as compare
    from heapsmith.model.design import load

    with show.progress() as progress:
        found = compare(load(design), traces or [], progress=progress)
    show.emit_json(found) if json else results.verified(found)
    return 0 if found.ok else 1


@app.command(epilog=take.example("simulate py.hst", "simulate py.hst --design default --design tuned.toml --json"))
def simulate(
    trace: take.Trace,
    design: take.Designs = None,
    json: take.Json = False,
) -> None:
    """What designs would do on a trace, side by side: counts, bytes, fragmentation."""
    from heapsmith.model.design import builtin_names, load
    from heapsmith.model.simulate import simulate as run_model

    with show.progress() as progress:
        found = run_model(trace, [load(name) for name in design or builtin_names()], progress=progress)
    show.emit_json(found) if json else results.simulated(found)


@app.command(epilog=take.example("tune py.hst -o tuned.toml", "tune py.hst -o tuned.toml --max-overhead 0.02"))
def tune(
    trace: take.Trace,
    out: take.OutFile,
    base: take.Base = "default",
    max_overhead: take.Overhead = 1.0,
    max_classes: Annotated[int, typer.Option(min=1, help="At most so many size classes.")] = 48,
    huge_pages: take.HugePages = False,
    name: Annotated[str | None, typer.Option(help="The design's name; without it the file's.")] = None,
    json: take.Json = False,
) -> None:
    """Search the size classes, fronts and slab size for a trace; write the design, each choice with its reason."""
    from heapsmith.model.design import load
    from heapsmith.model.design_toml import write_design
    from heapsmith.model.tune import tune as search

    with show.progress() as progress:
        found = search(
            trace,
            base=load(base),
            max_overhead=max_overhead,
            max_classes=max_classes,
            huge_pages=huge_pages,
            name=name or take.design_name(out.stem),
            progress=progress,
        )
    write_design(take.writable_file(out), found.design, found.reasons)
    show.emit_json(found) if json else results.tuned(found, out)


@app.command(
    context_settings=COMMAND_LINE, epilog=take.example("run default -- python3 x.py", "run out/py/libpy.so -- ls")
)
def run(
    library: take.LibraryOrDesign,
    command: take.Cmd,
    stats: Annotated[
        str | None, typer.Option(metavar="FILE", help="Write the heap's counters at exit; %p in it is the process id.")
    ] = None,
) -> int:
    """Run CMD under LD_PRELOAD of a library; a design is built into the cache first. The exit status is CMD's."""
    from heapsmith.bench.built import library_of
    from heapsmith.bench.measure import run_under
    from heapsmith.model.design import load

    words = take.command_words(command)
    path = take.library_file(library) or library_of(load(library))
    if stats is not None:
        os.environ["HEAPSMITH"] = take.with_stats(os.environ.get("HEAPSMITH", ""), stats)
    return run_under(path, words)


@app.command(
    epilog=take.example("replay py.hst --lib glibc --lib out/py/libpy.so", "replay py.hst --lib mimalloc --json")
)
def replay(
    trace: take.Trace,
    lib: Annotated[
        list[str], typer.Option(metavar="LIB", help="glibc, a peer (docs/peers.md) or a .so; repeat it to compare.")
    ],
    rounds: take.Rounds = 5,
    check: Annotated[bool, typer.Option("--check", help="Check alignment and contents of every block first.")] = False,
    json: take.Json = False,
) -> None:
    """Replay a trace against any malloc in interleaved rounds: time per operation and peak RSS, with their spread."""
    from heapsmith.bench.replay import replay as run_replay

    with show.progress() as progress:
        found = run_replay(trace, lib, rounds=rounds, check=check, progress=progress)
    show.emit_json(found) if json else results.replayed(found)


@app.command(
    context_settings=COMMAND_LINE,
    epilog=take.example("forge -o out/py -- env PYTHONMALLOC=malloc python3 x.py", "forge -o out/gcc -- gcc -c big.c"),
)
def forge(
    command: take.Cmd,
    out: take.OutFolder,
    base: take.Base = "default",
    max_overhead: take.Overhead = 1.0,
    name: Annotated[str | None, typer.Option(help="The design's name; without it the folder's.")] = None,
    rounds: take.Rounds = 5,
    json: take.Json = False,
) -> None:
    """All of it for CMD: record, tune, simulate, generate, build, verify, measure, replay.

    CMD runs several times, with /dev/null as its input; its output is compared, not shown.
    """
    from heapsmith.bench import forge as smithy
    from heapsmith.model.design import load

    words, folder = take.command_words(command), take.writable_folder(out)
    with show.progress() as progress:
        report = smithy.forge(
            words,
            folder,
            base=load(base),
            name=name or take.design_name(folder.absolute().name),
            max_overhead=max_overhead,
            rounds=rounds,
            say=lambda step, what: show.note(f"[{step}/{smithy.STEPS}] {what}"),
            progress=progress,
        )
    show.emit_json(report) if json else results.forged(report)


@app.command(
    epilog=take.example("bench --quick --tune", "bench --only 'mixed*' --tuned libpy.so='a recording of x.py'")
)
def bench(
    suite: take.Suites = None,
    only: take.Rows = None,
    lib: take.Beside = None,
    tuned: take.Tuned = None,
    tune: take.Tune = False,
    rounds: take.BenchRounds = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer rows, less work in each: under two minutes.")] = False,
    instructions: Annotated[bool, typer.Option("--instructions", help="Count instructions too (valgrind).")] = False,
    out: Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write JSON; to X.md a page.")] = None,
    json: take.Json = False,
) -> int:
    """Benchmarks, replays and real programs under every malloc: time, peak RSS, ratios to glibc and the best peer.
    See docs/bench.md. The exit status is 1 if a library that is no peer fails a row or changes its output.
    """
    from heapsmith.bench import bench_tables
    from heapsmith.bench.suite import bench as run_suites

    path = take.writable_file(out) if out is not None else None
    with show.progress() as progress:
        found = run_suites(
            suites=suite or [],
            only=only or [],
            libs=lib or [],
            tuned=tuned or [],
            rounds=rounds,
            quick=quick,
            instructions=instructions,
            tune=tune,
            progress=progress,
        )
    if path is not None:
        bench_tables.write(path, found)
    show.emit_json(found) if json else results.benched(found)
    return 1 if bench_tables.broken(found) else 0


@app.command(epilog=take.example("doctor", "doctor --json"))
def doctor(json: take.Json = False) -> int:
    """What this machine has and lacks for heapsmith; the exit status is 3 if it lacks something essential."""
    from heapsmith.bench.doctor import doctor as examine

    found = examine()
    show.emit_json(found) if json else results.doctor(found)
    return 3 if found.lacking else 0


def main() -> None:
    """Run the command line and exit: 0 fine, 1 a check failed, 2 usage or bad input, 3 the machine lacks something."""
    exits.main(app)
