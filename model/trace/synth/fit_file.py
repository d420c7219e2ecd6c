"""A fit as a file in JSON or TOML, with all that can be wrong (docs/other-tools.md, 'a fit written by hand')."""

from pathlib import Path
from typing import Any, Literal

import msgspec
import tomlkit

from heapsmith.model.errors import BadInput
from heapsmith.model.files import JSON_FAULTS, write_whole
from heapsmith.model.toml_text import Stated, from_toml, read_text
from heapsmith.model.trace.synth.fit import Blocks, Fit, LivesFit, PhasesFit, Step
from heapsmith.model.trace.synth.steps import columns


class _Kind(msgspec.Struct):
    type: Literal["phases", "lives"]


_KINDS: dict[str, type[PhasesFit] | type[LivesFit]] = {"phases": PhasesFit, "lives": LivesFit}


def _decoded(text: str, path: Path, kind: type[Stated]) -> Stated:
    """Return the `kind` of a text in TOML or JSON; BadInput names file and field."""
    if path.suffix == ".toml":
        return from_toml(text, str(path), kind, str)
    try:
        return msgspec.json.decode(text, type=kind)
    except JSON_FAULTS as error:
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
    _, _, classes = columns(fit.steps)
    for number, phase in enumerate(fit.phases):
        steps = [row.step for row in phase.rows] + [step for _, step in phase.marks]
        steps += [step for row in phase.rows for step in (row.last, row.before)]
        if steps and max(steps) >= len(fit.steps):
            raise BadInput(f"{path}: phases[{number}]: names step {max(steps)}; expected 0 to {len(fit.steps) - 1}")
        for index, bound in enumerate(phase.bounds):
            if bound.size_class >= classes:
                known = f"0 to {classes - 1}" if classes else "no bounds: no step has a block"
                raise BadInput(
                    f"{path}: phases[{number}].bounds[{index}]: names class {bound.size_class}; expected {known}"
                )
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
