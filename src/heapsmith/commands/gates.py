"""The commands of continuous integration: guard a design against drift of its workload, check a program's figures."""

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import heapsmith
from heapsmith.api import show
from heapsmith.api.stated import Argument, Option
from heapsmith.commands import arguments as take
from heapsmith.commands.options import COMMAND_LINE, Commands, Given, example, options_of
from heapsmith.model.errors import BadInput

if TYPE_CHECKING:  # the types need numba, which a command imports only when it runs
    from heapsmith.tools.ci.verdict import Verdict

app = Commands()

FORMATS = ("markdown", "junit", "sarif", "github", "gitlab")
Form = Annotated[
    Literal["text", "json", "markdown", "junit", "sarif", "github", "gitlab"],
    Option("What is printed (docs/ci.md); github also adds Markdown to the summary of the job.", flags="--format"),
]
Saved = Annotated[
    list[str] | None,
    Option("Also write a file in a format, such as junit=out.xml; repeat it.", "FORMAT=FILE", "--save"),
]


def chosen(form: str, saved: list[str] | None, json: bool) -> tuple[str, list[tuple[str, Path]]]:
    """The format to print and the files to write, before the work.

    Raises BadInput for options that do not go together and files that cannot be written.
    """
    if json and form not in ("text", "json"):
        raise BadInput(f"--json: with --format {form}; expected one of both")
    files = []
    for text in saved or []:
        name, equals, file = text.partition("=")
        if not equals or name not in (*FORMATS, "json"):
            raise BadInput(f"--save {text}: expected FORMAT=FILE with one of {', '.join((*FORMATS, 'json'))}")
        files.append((name, take.writable_file(Path(file))))
    return "json" if json else form, files


def emit(found: "Verdict", result: Any, form: str, files: list[tuple[str, Path]], begun: float) -> int:
    """Print and write a judgement that began at a time of the monotonic clock; the exit status is 1 if it is bad."""
    import msgspec

    from heapsmith.model.files import json_text, write_text
    from heapsmith.tools.ci.formats import FORMATS as WRITERS
    from heapsmith.tools.ci.github import add_to_summary

    found = msgspec.structs.replace(found, seconds=time.monotonic() - begun)
    for name, file in files:
        write_text(file, json_text(result) + "\n" if name == "json" else WRITERS[name](found))
    if form == "json":
        show.emit_json(result)
    elif form == "text":
        for table in found.tables:
            show.table(*table)
        for sentence in found.sentences:
            show.prose(sentence)
        show.line(found.state)
    else:
        show.text(WRITERS[form](found))
    if form == "github":
        add_to_summary(found)
    return 0 if found.ok else 1


@app.command(
    epilog=example(
        "guard tuned.toml mon.hst tue.hst --baseline tuned.guard.json --write",
        "guard tuned.toml new.hst --baseline tuned.guard.json --max-waste-rise 10%",
        "guard tuned.toml new.hst --baseline tuned.guard.json --format github --save junit=guard.xml",
    )
)
def guard(
    design: take.Design,
    traces: Annotated[list[Path], Argument("Recordings (.hst); together they are the workload.", "TRACE...")],
    baseline: Annotated[Path, Option("The figures that the design was made for (JSON).", "FILE")],
    write: Annotated[bool, Option("Write the baseline from these recordings.")] = False,
    max_waste_rise: Annotated[str, Option("The most that committed bytes per live byte may rise.", "SHARE")] = "5%",
    max_slow_rise: Annotated[str, Option("The most that slow operations per operation may rise.", "SHARE")] = "20%",
    max_size_shift: Annotated[
        str, Option("The largest share of requests that may move to other sizes.", "SHARE")
    ] = "0.1",
    max_lifetime_shift: Annotated[
        str, Option("The largest share of blocks that may move to other lifetimes.", "SHARE")
    ] = "0.1",
    form: Form = "text",
    saved: Saved = None,
    json: take.Json = False,
) -> int:
    """Check that new recordings still are what a design was made for. The exit status is 1 if they drift.

    Write a baseline when you tune a design, and check it in your CI. The table says which figure drifts; below it
    stands what changed, and what new size classes would save. See docs/ci.md.
    """
    from heapsmith.model.design.design import load
    from heapsmith.model.search import guard as watch
    from heapsmith.model.search.workload import write_baseline
    from heapsmith.tools.ci.made import of_guard
    from heapsmith.tools.ci.verdict import root_of

    begun = time.monotonic()
    printed, files = chosen(form, saved, json)
    if write and (files or printed not in ("text", "json")):
        raise BadInput("--write: judges nothing; expected no --format and no --save")
    limits = watch.Limits(
        waste_rise=take.share("--max-waste-rise", max_waste_rise),
        slow_rise=take.share("--max-slow-rise", max_slow_rise),
        size_shift=take.share("--max-size-shift", max_size_shift),
        lifetime_shift=take.share("--max-lifetime-shift", max_lifetime_shift),
    )
    with show.progress() as progress:
        if write:
            written = write_baseline(take.writable_file(baseline), load(design), traces, progress)
        else:
            found = watch.guard(load(design), baseline, traces, limits, progress)
    if write:
        show.emit_json(written) if printed == "json" else show.line(baseline)
        return 0
    return emit(of_guard(found, root_of(Path.cwd())), found, printed, files, begun)


@app.command(
    context_settings=COMMAND_LINE,
    epilog=example(
        "check --baseline job.check.json -- ./job input.txt",
        "check --baseline job.check.json --tolerance 1% --format github --save junit=check.xml -- ./job input.txt",
        "check --baseline job.check.json --update -- ./job input.txt",
    ),
)
@options_of(heapsmith.compare, "command baseline update runs tolerance", command=take.command_words)
def check(
    given: Given,
    baseline: Annotated[
        Path, Option("The figures to compare with (JSON); written if there is none, in CI only with --update.", "FILE")
    ],
    update: Annotated[bool, Option("Write the baseline anew.")] = False,
    runs: Annotated[int, Option("How often CMD runs, to see which figures are stable.", least=2)] = 3,
    tolerance: Annotated[str, Option("The most that a stable figure may grow.", "SHARE")] = "5%",
    each_function: Annotated[bool, Option("Judge the figures of each function too.")] = False,
    design: Annotated[
        str, Option("The design that is deployed, under which a run is simulated.", "DESIGN")
    ] = "default",
    top: Annotated[int, Option("Functions in the table; --json has all.", least=1)] = 10,
    form: Form = "text",
    saved: Saved = None,
    json: take.Json = False,
) -> int:
    """Check that CMD asks for no more memory than its baseline says. The exit status is 1 if a stable figure grew.

    Figures are exact: allocations, bytes, peaks, what was never freed, also by function. Those that differ from run
    to run are not gated. CMD reads nothing and its output goes to standard error. See docs/ci.md.
    """
    from heapsmith.model.design.design import load
    from heapsmith.tools.ci import check as checking
    from heapsmith.tools.ci.baseline import read_baseline
    from heapsmith.tools.ci.made import of_check, of_written
    from heapsmith.tools.ci.verdict import root_of, service

    begun = time.monotonic()
    printed, files = chosen(form, saved, json)
    root, share = root_of(Path.cwd()), take.share("--tolerance", tolerance)
    asked = checking.Asked(given["command"], runs, share, load(design), root, each_function)
    is_new = update or not baseline.exists()
    if is_new and not update and (variable := service()):
        raise BadInput(
            f"{baseline}: no such file, and {variable} is set; expected a baseline, or --update to write one"
        )
    before = None if is_new else read_baseline(baseline)
    if is_new:
        baseline = take.writable_file(baseline)
    with show.progress() as progress:
        measured = checking.measure(asked, progress, sys.stderr.fileno())
    found = checking.check(asked, baseline, before or measured.baseline, measured)
    if before is None:
        checking.write_baseline(baseline, measured)
        return emit(of_written(found), found, printed, files, begun)
    return emit(of_check(found, root, top), found, printed, files, begun)
