"""The commands that try designs on a program of the user: ab, prediction beside measurement, and bisect."""

import typer

from heapsmith.api import show, trials
from heapsmith.commands import arguments as take
from heapsmith.commands.options import Commands, Given, WithProgram, example, options_of, program

app = Commands()


@app.command(
    cls=WithProgram,
    epilog=example(
        "ab default tuned.toml -- python3 x.py",
        "ab default --change front.capacity=32 --change thp=never --rounds 9 -- ./job",
        "ab default lean --trace a.hst --trace b.hst --instructions --json",
    ),
)
@options_of(
    trials.ab,
    "context designs changes traces machine instructions rounds seconds everywhere",
    seconds=take.seconds,
)
def ab(context: typer.Context, given: Given, json: take.Json = False) -> int:
    """Try designs beside a base on CMD: the model's prediction beside the measurement, figure by figure.

    CMD is recorded once. Then it runs in rounds under the library of each design, as `compare` runs it. Traces are
    replayed. The table has each figure in parts of the base's, as predicted and as measured, and whether the prediction
    is in the interval. The exit status is 1 if the output of CMD differs, or if a library does not serve the processes
    that do the work.
    """
    with show.progress() as progress:
        found = trials.ab(command=_words(context), **given, progress=progress)
    show.emit_json(found.details) if json else found.show()
    return 0 if found.same_output else 1


@app.command(
    cls=WithProgram,
    epilog=example(
        "bisect default lean -- python3 x.py",
        "bisect default tuned.toml --by peak --measure all -- ./job",
        "bisect default lean --trace py.hst --by instructions --measure none --json",
    ),
)
@options_of(
    trials.bisect,
    "context first last by measure traces machine rounds seconds everywhere",
    seconds=take.seconds,
)
def bisect(context: typer.Context, given: Given, json: take.Json = False) -> None:
    """Walk from design A to B a field at a time, and say which change makes the difference on CMD.

    Each design on the way is legal. A row has what the model predicts that the step changes, in parts of A's figure;
    what A changes by this step alone; what B changes by this step as the last; and the measured ratio. Where the three
    predictions differ, the change depends on others.
    """
    with show.progress() as progress:
        found = trials.bisect(command=_words(context), **given, progress=progress)
    show.emit_json(found.details) if json else found.show()


def _words(context: typer.Context) -> list[str] | None:
    """The words behind --, if there are any."""
    words = program(context)
    return take.command_words("", words) if words else None
