"""What to do after a forge: the commands that follow from its verdict."""

import os
import shlex
from pathlib import Path
from typing import NamedTuple

from heapsmith.model.design.design import builtin_names
from heapsmith.tools.common.preload import SPECIAL
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.forge.verdict import Verdict
from heapsmith.tools.peers.peers import GLIBC

MORE_ROUNDS = 20


class Next(NamedTuple):
    """A sentence, and the commands that it is about."""

    why: str
    commands: list[str]


def next_steps(command: list[str], base: str, library: str, measured: MeasureTable, found: Verdict) -> list[Next]:
    """The steps after a verdict on a measurement (see verdict)."""
    words, kept_base = shlex.join(command), found.to_base is None
    row_of_base, row_of_tuned = measured.rows[-1 if kept_base else -2], measured.rows[-1]
    known = base if base in builtin_names() else row_of_base.path or base
    of_base, of_tuned = _running(known, words), _running(library, words)
    if found.use == row_of_tuned.library and not kept_base:
        return [Next("To run the program with it, here and where heapsmith is not:", of_tuned)]
    if found.use == row_of_base.library:
        file = str(Path(library).with_name(row_of_base.library))
        made = [f"heapsmith build {known} -o {shlex.quote(file)}", *_running(file, words)[1:]] if known == base else []
        return [Next(f"To run the program with {base}, here and where heapsmith is not:", [*of_base[:1], *made])]
    if found.use == GLIBC and measured.output_of != GLIBC:
        of_glibc = _beside(GLIBC, measured, words)
        return [Next("To run the program with glibc's malloc in place of its own:", of_glibc)]
    if found.use is not None:
        return [Next("Run the program as it is. What else may help:", _else(words, Path(library).parent))]
    if found.between:
        made_of = {row_of_base.library: of_base[:1]} | ({} if kept_base else {row_of_tuned.library: of_tuned})
        return [Next(f"With {one}:", made_of.get(one) or _beside(one, measured, words)) for one in found.between]
    libraries = " ".join(f"--lib {shlex.quote(one)}" for one in [GLIBC, known, *([] if kept_base else [library])])
    return [Next("To decide it:", [f"heapsmith compare --rounds {MORE_ROUNDS} {libraries} -- {words}"])]


def _beside(malloc: str, measured: MeasureTable, words: str) -> list[str]:
    """The command that runs the program with glibc's malloc, or with its own."""
    return [f"LD_PRELOAD=libc.so.6 {words}" if malloc == GLIBC and measured.output_of != GLIBC else words]


def _running(library: str, words: str) -> list[str]:
    """The commands that run the program with a library: by heapsmith, and without it if its path can be preloaded."""
    by_heapsmith = f"heapsmith run {shlex.quote(library)} -- {words}"
    if SPECIAL.search(library):
        return [by_heapsmith]
    place = shlex.quote(library) if os.path.isabs(library) else f'"$PWD"/{shlex.quote(library)}'
    return [by_heapsmith, f"LD_PRELOAD={place} {words}"]


def _else(words: str, out: Path) -> list[str]:
    """What may save memory or time where no malloc does."""
    trace = shlex.quote(str(out / "stacks.hst"))
    return [
        f"heapsmith record --stacks --only -o {trace} -- {words}",
        f"heapsmith sites {trace}  # which lines of the program allocate most",
        f"heapsmith forge -o {shlex.quote(str(out))} --favour memory -- {words}  # or --favour time, or a longer input",
    ]
