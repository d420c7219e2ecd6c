"""The fit of a program: what a synthetic trace is drawn from, as a file in JSON or TOML (docs/synth.md 3 and 4)."""

from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
import tomlkit

from heapsmith.model.errors import BadInput
from heapsmith.model.files import write_whole
from heapsmith.model.toml_text import Stated, from_toml, read_text

Count = Annotated[int, msgspec.Meta(ge=0)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Bytes = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]
Number = Annotated[int, msgspec.Meta(ge=0, lt=1 << 31)]
Thread = Annotated[int, msgspec.Meta(ge=0, lt=1 << 16)]
Log2 = Annotated[int, msgspec.Meta(ge=0, le=62)]
Gap = Annotated[int, msgspec.Meta(ge=0, le=1 << 50)]  # nanoseconds
Distance = Annotated[int, msgspec.Meta(gt=-(1 << 31), lt=1 << 31)]
Events = Annotated[int, msgspec.Meta(ge=1, le=1 << 40)]

Operation = Literal["malloc", "calloc", "realloc", "aligned", "free", "free_sized", "thread_start", "thread_exit"]
"""In the order of the numbers of Op."""
Choice = Literal["youngest", "oldest", "next", "older", "younger"]


class Step(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What an event does, without the number of its block.

    The block of a free or realloc is one of those with `from_size` that `from_thread` gave birth to or resized last.
    `choose` and `distance`, the least and the most, say which: counted from the youngest or the oldest, or from the
    place of the last such step (next: to the older; older, younger: the same with one sign).
    """

    op: Operation
    thread: Thread = 0
    size: Bytes = 0  # of births and reallocs: the bytes asked for
    align_log2: Log2 = 0
    from_size: Bytes = 0
    from_thread: Thread = 0
    choose: Choice = "youngest"
    distance: tuple[Distance, Distance] = (0, 0)


class Row(NamedTuple):
    """How often a step came in a context.

    The context is the last step and how many times it came in a row, and the same of the step before these. Step -1 is
    the phase's beginning.
    """

    times: Positive
    step: Number
    last: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
    run: Number
    before: Annotated[int, msgspec.Meta(ge=-1, lt=1 << 31)]
    run_before: Number


class Bound(NamedTuple):
    """The least and most blocks of a class in a phase, less those at its beginning."""

    size_class: Number
    least: Annotated[int, msgspec.Meta(ge=-(1 << 31), le=0)]
    most: Number


class Phase(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stretch of the program: its common steps as a distribution, its rare ones one by one."""

    rows: list[Row] = []
    bounds: list[Bound] = []
    marks: list[tuple[Number, Number]] = []  # place in the phase, step


class PhasesFit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="phases"):
    """A program as phases of steps: what is fitted to a trace."""

    events: Events  # of the trace
    steps: Annotated[list[Step], msgspec.Meta(min_length=1)]
    phases: Annotated[list[Phase], msgspec.Meta(min_length=1)]
    order: Annotated[list[tuple[Number, Gap]], msgspec.Meta(min_length=1)]  # phase, nanoseconds per event
    started: list[Thread] = []  # threads whose starts were seen
    about: str = ""


class Blocks(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """Blocks of a size, or of sizes from `size` to `largest` with equal chances.

    A file that states a default of 0 is refused: 0 is no number of bytes, and no alignment.
    """

    size: Bytes
    largest: Annotated[int, msgspec.Meta(ge=1, le=1 << 40)] = 0  # absent: all have `size`
    weight: Annotated[float, msgspec.Meta(gt=0, le=1e18)] = 1.0  # share of the births, of the sum of all weights
    lifetime: Annotated[float, msgspec.Meta(gt=0, le=1e18)] | None = None  # mean, in births of all; null: for ever
    shape: Literal["exponential", "constant", "uniform"] = "exponential"
    op: Literal["malloc", "calloc", "aligned"] = "malloc"
    align_log2: Annotated[int, msgspec.Meta(ge=1, le=62)] = 0  # of `aligned`, and only there
    thread: Thread = 0
    freed_by: Thread | None = None  # null: the same thread


class Mix(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A stretch of time with one distribution of births."""

    blocks: Annotated[list[Blocks], msgspec.Meta(min_length=1)]
    events: Events = 1  # the phase's share of the events, of the sum over all phases


class LivesFit(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True, tag="lives"):
    """A program as sizes and lifetimes: what is written by hand, or taken from a heap profile."""

    events: Events
    phases: Annotated[list[Mix], msgspec.Meta(min_length=1)]
    gap_ns: Gap = 100  # between events
    about: str = ""
    assumed: list[str] = []  # what the source did not tell


Fit = PhasesFit | LivesFit


class _Kind(msgspec.Struct):
    type: Literal["phases", "lives"]


_KINDS: dict[str, type[PhasesFit] | type[LivesFit]] = {"phases": PhasesFit, "lives": LivesFit}


def _decoded(text: str, path: Path, kind: type[Stated]) -> Stated:
    """Return the `kind` of a text in TOML or JSON; BadInput names file and field."""
    if path.suffix == ".toml":
        return from_toml(text, str(path), kind, str)
    try:
        return msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput(f"{path}: {error}") from None


def load_fit(path: Path) -> Fit:
    """Return the fit of a file, in TOML if its name ends so, else in JSON; BadInput names file and field."""
    text = read_text(path, str(path))
    try:
        kind = _KINDS[_decoded(text, path, _Kind).type]
    except BadInput as error:
        raise BadInput(f"{error}; a fit has a field `type`, which is 'lives' or 'phases'") from None
    fit: Fit = _decoded(text, path, kind)
    _check(fit, path)
    return fit


def save_fit(path: Path, fit: Fit) -> None:
    """Write the fit as `load_fit` reads it; BadInput if the file cannot be written."""
    if path.suffix == ".toml":
        write_whole(path, tomlkit.dumps(_without_null(msgspec.to_builtins(fit))).encode())
    else:
        write_whole(path, msgspec.json.encode(fit) + b"\n")


def _without_null(value: Any) -> Any:
    """Return the value without the fields that are null, which TOML cannot hold and which are the defaults."""
    if isinstance(value, dict):
        return {name: _without_null(inner) for name, inner in value.items() if inner is not None}
    return [_without_null(inner) for inner in value] if isinstance(value, list | tuple) else value


def _check(fit: Fit, path: Path) -> None:
    """Raise BadInput for numbers that name no step, phase or class, and for blocks that contradict themselves."""
    if isinstance(fit, LivesFit):
        for number, mix in enumerate(fit.phases):
            for index, blocks in enumerate(mix.blocks):
                if why := _why_not(blocks):
                    raise BadInput(f"{path}: phases[{number}].blocks[{index}].{why}")
        return
    for number, phase in enumerate(fit.phases):
        steps = [row.step for row in phase.rows] + [step for _, step in phase.marks]
        steps += [step for row in phase.rows for step in (row.last, row.before)]
        if steps and max(steps) >= len(fit.steps):
            raise BadInput(f"{path}: phases[{number}]: names step {max(steps)}; expected 0 to {len(fit.steps) - 1}")
    for number, (phase_number, _) in enumerate(fit.order):
        if phase_number >= len(fit.phases):
            raise BadInput(f"{path}: order[{number}]: names phase {phase_number}; expected 0 to {len(fit.phases) - 1}")
    for number, step in enumerate(fit.steps):
        if why := _why_not_step(step):
            raise BadInput(f"{path}: steps[{number}].{why}")


def _why_not_step(step: Step) -> str | None:
    """Return what is wrong with a step, or None."""
    takes_block = step.op in ("realloc", "free", "free_sized")
    for field in ("from_size", "from_thread", "choose", "distance"):
        if not takes_block and getattr(step, field) != getattr(Step(step.op), field):
            return f"{field}: expected it for realloc, free and free_sized only, got op '{step.op}'"
    if step.size and step.op in ("free", "free_sized", "thread_start", "thread_exit"):
        return f"size: expected it for births and reallocs only, got op '{step.op}'"
    if step.op == "realloc" and not step.size:
        return "size: expected 1 or more for a realloc"
    if step.align_log2 and step.op not in ("aligned", "free_sized"):
        return f"align_log2: expected it for aligned and free_sized only, got op '{step.op}'"
    if step.distance[0] > step.distance[1]:
        return f"distance: expected the least first, got {list(step.distance)}"
    if step.distance[0] < 0 and step.choose in ("youngest", "oldest", "older", "younger"):
        return f"distance: expected 0 or more for '{step.choose}', got {list(step.distance)}"
    return None


def _why_not(blocks: Blocks) -> str | None:
    """Return what is wrong with a kind of blocks, or None."""
    if blocks.largest and blocks.largest < blocks.size:
        return f"largest: {blocks.largest}; expected at least size, {blocks.size}"
    if blocks.align_log2 and blocks.op != "aligned":
        return f"align_log2: expected it for op 'aligned' only, got op '{blocks.op}'"
    if blocks.op == "aligned" and not blocks.align_log2:
        return "align_log2: expected 1 or more for op 'aligned'"
    if blocks.lifetime is None and blocks.freed_by is not None:
        return "freed_by: expected it with a lifetime only: these blocks live for ever"
    if blocks.lifetime is None and blocks.shape != "exponential":
        return "shape: expected it with a lifetime only: these blocks live for ever"
    return None
