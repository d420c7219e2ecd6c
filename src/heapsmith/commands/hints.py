"""The right command for a wrong one: what newcomers type first, by their own words, and what they meant."""

import os
import shlex
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from heapsmith.model.trace.frames import MAGIC

Words = list[str]

PROGRAMS = "-- CMD"
MEANT = {
    "analyse": f"inspect {PROGRAMS}",
    "analyze": f"inspect {PROGRAMS}",
    "attach": "top PID",
    "bench": f"compare --lib glibc --lib default {PROGRAMS}",
    "benchmark": f"compare --lib glibc --lib default {PROGRAMS}",
    "compile": "build DESIGN -o libheap.so",
    "convert": "trace import FILE -o t.hst",
    "coredump": "core FILE",
    "explain": "design show DESIGN",
    "exec": f"run default {PROGRAMS}",
    "import": "trace import FILE -o t.hst",
    "export": "trace export TRACE",
    "fragmentation": "pins PID",
    "info": "trace info TRACE",
    "init": "design show default",
    "leak": "leaks TRACE",
    "list": "designs",
    "ls": "designs",
    "malloc": f"run default {PROGRAMS}",
    "measure": f"compare --lib glibc --lib default {PROGRAMS}",
    "new": "design show default",
    "optimise": "tune TRACE -o design.toml",
    "optimize": "tune TRACE -o design.toml",
    "preload": f"run default {PROGRAMS}",
    "print": "trace print TRACE",
    "ps": "top",
    "search": "tune TRACE -o design.toml",
    "show": "design show DESIGN",
    "stat": "trace info TRACE",
    "start": f"forge -o out {PROGRAMS}",
    "synth": "trace synth TRACE -o synth.hst",
    "test": "verify DESIGN TRACE",
    "version": "--version",
    "view": "report TRACE -o report.html",
    "watch": "top PID",
}
"""What a word means that is no command: the words of commands, in which CMD, TRACE and FILE become what follows it."""

MALLOCS = ("glibc", "default", "jemalloc", "mimalloc2", "mimalloc3", "tcmalloc", "snmalloc", "rpmalloc")
OF_A_TRACE = ("simulate", "sites", "leaks", "mesh", "reuse", "knobs", "replay", "tune", "report", "guard")
RECORD_FIRST = "record -o t.hst -- CMD"
WITH_A_TRACE = {
    "inspect": "sites TRACE",
    "forge": "tune TRACE -o design.toml",
    "run": "replay TRACE --lib default",
    "compare": "replay TRACE --lib glibc --lib default",
    "check": "guard default TRACE",
    "top": "trace info TRACE",
}
"""By a command that wants a program: what does the like with a trace."""


def right(arguments: Sequence[str], commands: Sequence[str]) -> str | None:
    """The command that was meant, with the words that were given as far as they fit; None where nothing is known.

    commands: the names of the program's commands.
    """
    words = list(arguments)
    while words[:1] in (["heapsmith"], ["--"]):
        words = words[1:]
    if not words:
        return None
    first, rest = words[0], words[1:]
    if first in ("-v", "-V", "-version"):
        return "heapsmith --version"
    if first.startswith("-"):
        return None
    if words != list(arguments) and first in commands:
        return right(words, commands) or f"heapsmith {shlex.join(words)}"
    if first == "help":
        return " ".join(["heapsmith", *(rest[:1] if rest[:1] and rest[0] in commands else []), "--help"])
    if first not in commands:
        return _meant(first, rest)
    if first in WITH_A_TRACE and (trace := _lone_trace(rest)):
        return f"heapsmith {WITH_A_TRACE[first].replace('TRACE', shlex.quote(trace))}"
    rule = RULES.get(first) or (_of_a_trace if first in OF_A_TRACE else None)
    if first in ("inspect", "forge") and "--" in rest[:-1] and not is_program(_program(rest)[0]):
        return None  # to run it would fail again
    said = rule(first, rest) if rule else None
    return f"heapsmith {said}" if said else None


def _meant(first: str, rest: Words) -> str | None:
    """For a word that is no command: another name of one, or a program."""
    if first in MEANT:
        return f"heapsmith {_filled(MEANT[first], rest)}"
    if first in MALLOCS or Path(first).suffix in (".toml", ".so"):
        program = _program(rest)
        return f"heapsmith run {shlex.quote(first)} -- {shlex.join(program) if program else 'CMD'}"
    if Path(first).suffix == ".hst":
        return f"heapsmith trace info {shlex.quote(first)}"
    if is_program(first):
        return f"heapsmith inspect -- {shlex.join([first, *rest])}"
    return None


def _filled(said: str, rest: Words) -> str:
    """The words of a command with what was given in place of CMD, TRACE or FILE."""
    given = [word for word in rest if word != "--"]
    if not given:
        return said
    if "CMD" in said:
        given = given[1:] if given[0] in MALLOCS and len(given) > 1 else given
        return said.replace("CMD", shlex.join(given))
    for name in ("TRACE", "FILE", "PID", "DESIGN"):
        if name in said and not given[0].startswith("-"):
            return said.replace(name, shlex.quote(given[0]), 1)
    return said


def is_program(word: str) -> bool:
    """Whether a word names a program of PATH, or an executable file."""
    return shutil.which(word) is not None


def _is_trace(file: Path) -> bool:
    """Whether a file can be read, and is a trace: a program may be one that this user can only execute."""
    with suppress(OSError), file.open("rb") as content:
        return content.read(len(MAGIC)) == MAGIC
    return False


def _lone_trace(rest: Words) -> str | None:
    """The trace that stands where a program ought to, besides options, mallocs and where to write to."""
    given = [word for before, word in pairwise(["", *rest]) if before not in ("-o", "--out") and word[:1] != "-"]
    programs = [word for word in given if word not in MALLOCS]
    return programs[0] if len(programs) == 1 and Path(programs[0]).is_file() and _is_trace(Path(programs[0])) else None


def _program(rest: Words) -> Words:
    """The words of the program among those of a command: behind --, or from the first that names a program on."""
    if "--" in rest:
        return rest[rest.index("--") + 1 :]
    at = next((number for number, word in enumerate(rest) if is_program(word)), len(rest))
    return rest[at:]


def _has(rest: Words, *options: str) -> bool:
    before = rest[: rest.index("--")] if "--" in rest else rest
    return any(word.startswith(options) for word in before)


def _recorded(_: str, rest: Words) -> str | None:
    """record without -o, or without a program or a process."""
    if _has(rest, "--pid"):
        return None if _has(rest, "-o", "--out") else f"record -o t.hst {shlex.join(rest)}"
    program = _program(rest)
    if _has(rest, "-o", "--out"):
        if program and "--" not in rest and (misplaced := _behind(program, "-o", "--out")):
            out, program = misplaced
            return f"record -o {shlex.quote(out)} -- {shlex.join(program)}"
        return None if program else f"record {shlex.join(word for word in rest if word != '--')} -- CMD"
    if not program:
        return RECORD_FIRST
    return f"record -o {shlex.quote(Path(program[0]).name)}.hst -- {shlex.join(program)}"


def _behind(program: Words, *options: str) -> tuple[str, Words] | None:
    """The value of an option that stands behind a program, and the program without it."""
    at = next((number for number, word in enumerate(program[:-1]) if word in options), None)
    return None if at is None else (program[at + 1], program[:at] + program[at + 2 :])


def _forged(command: str, rest: Words) -> str | None:
    """forge or inspect without a folder, or without a program."""
    program = _program(rest)
    if program and _has(rest, "-o", "--out"):
        return None
    return f"{command} -o out -- {shlex.join(program) if program else 'CMD'}"


def _run(_: str, rest: Words) -> str | None:
    """run without a design: a program stands in its place."""
    given = [word for word in rest if word != "--"]
    if not given:
        return "run default -- CMD"
    is_design = Path(given[0]).suffix in (".toml", ".so") or given[0] in MALLOCS
    if rest[0] == "--" or (is_program(given[0]) and not is_design):
        return f"run default -- {shlex.join(given)}"
    return f"run {shlex.quote(given[0])} -- CMD" if len(given) == 1 else None


def _compared(_: str, rest: Words) -> str | None:
    """compare without --lib: mallocs stand before the program, or nowhere."""
    if _has(rest, "--lib"):
        return None if _program(rest) else f"compare {shlex.join(word for word in rest if word != '--')} -- CMD"
    before = rest[: rest.index("--")] if "--" in rest else rest
    libraries = [word for word in before if word in MALLOCS or Path(word).suffix in (".toml", ".so")]
    program = [word for word in _program(rest) if word not in libraries]
    libraries = libraries or [*MALLOCS[:2]]
    libraries = libraries if len(libraries) > 1 or libraries == ["glibc"] else ["glibc", *libraries]
    options = " ".join(f"--lib {shlex.quote(word)}" for word in libraries)
    return f"compare {options} -- {shlex.join(program) if program else 'CMD'}"


def _of_a_trace(command: str, rest: Words) -> str | None:
    """A command of traces that got none, a program in place of one, or nowhere to write to."""
    given = [word for word in rest if not word.startswith("-")]
    if not given:
        return RECORD_FIRST
    file = Path(given[0])
    if is_program(given[0]):
        return f"record -o {shlex.quote(file.name)}.hst -- {shlex.join(_program(rest))}"
    if file.is_file() and not _is_trace(file):
        from heapsmith.model.trace.imports.formats import is_known  # a command that is right must not wait for it

        if is_known(file):
            return _imported(given[0])
        if not file.stat().st_size:
            return f"record -o {shlex.quote(given[0])} -- CMD"
        return f"record -o {shlex.quote(file.stem)}.hst -- CMD {shlex.quote(given[0])}"
    if command in ("simulate", "replay") and len(given) == 2 and given == rest:
        option = {"simulate": "--design", "replay": "--lib"}[command]
        return f"{command} {shlex.quote(given[0])} {option} {shlex.quote(given[1])}"
    wanted = {"tune": f"-o {file.stem}.toml", "report": "-o report.html", "replay": "--lib default"}.get(command)
    if wanted and not _has(rest, *wanted.split()[:1], "--out"):
        return f"{command} {shlex.join(rest)} {wanted}"
    return None


def _imported(name: str) -> str:
    return f"trace import {shlex.quote(name)} -o {shlex.quote(Path(name).name.partition('.')[0] or 'trace')}.hst"


def _is_design(word: str) -> bool:
    """Whether a word names a design: a built-in one, or a file."""
    from heapsmith.model.design.design import builtin_names  # a command that is right must not wait for it

    return Path(word).suffix == ".toml" or word in builtin_names()


def _swapped(command: str, rest: Words) -> str:
    """A command of a design and its traces, whose words begin with a trace: with the design first."""
    design = next((word for word in rest if _is_design(word)), "default")
    return f"{command} {shlex.join([design, *(word for word in rest if word != design)])}"


def _of_a_design(command: str, rest: Words) -> str | None:
    """A command of designs that got none, a trace in place of one, or nowhere to write to."""
    given = [word for word in rest if not word.startswith("-")]
    out = {"build": "-o libheap.so", "generate": "-o c", "verify": ""}[command]
    if not given:
        return f"{command} default {out}".strip()
    if Path(given[0]).suffix == ".hst":
        return _swapped(command, rest) if command == "verify" else f"tune {shlex.quote(given[0])} -o design.toml"
    if out and not _has(rest, "-o", "--out"):
        return f"{command} {shlex.join(rest)} {out}"
    return None


def _trace(_: str, rest: Words) -> str | None:
    """`trace` with a file in place of what to do with it, or an export or an import to nowhere."""
    if rest[:1] == ["export"] and len(rest) == 2:
        return f"trace export {shlex.quote(rest[1])} -o {shlex.quote(Path(rest[1]).stem)}.csv"
    if rest[:1] == ["import"]:
        return _imported(rest[1]) if len(rest) == 2 else None
    return f"trace info {shlex.quote(rest[0])}" if rest and os.path.exists(rest[0]) else None


def _designs(command: str, rest: Words) -> str | None:
    """A design behind `designs`, or behind `design` without what to do with it."""
    if not rest:
        return "designs"
    if command == "designs" or rest[0] not in ("show", "check"):
        return f"design show {shlex.quote(rest[0])}"
    if len(rest) > 1 and Path(rest[1]).suffix == ".hst":
        return f"trace info {shlex.quote(rest[1])}"
    return f"design {rest[0]} default" if len(rest) == 1 else None


def _profiled(_: str, rest: Words) -> str | None:
    """profile of nothing, or of a trace, which has all events."""
    if not rest:
        return "profile -- CMD"
    return f"sites {shlex.quote(rest[0])}" if Path(rest[0]).suffix == ".hst" else None


def _changed(_: str, rest: Words) -> str | None:
    """diff of one trace."""
    given = [word for word in rest if not word.startswith("-")]
    return f"diff {shlex.quote(given[0]) if given else 'OLD.hst'} NEW.hst" if len(given) < 2 else None


def _guarded(command: str, rest: Words) -> str | None:
    """guard without a design, or with a trace in its place."""
    given = [word for word in rest if not word.startswith("-")]
    if given and Path(given[0]).suffix == ".hst":
        return _swapped(command, rest)
    return f"guard default {shlex.join(given) if given else 'TRACE'}" if len(given) < 2 else None


def _checked(_: str, rest: Words) -> str | None:
    """check without a baseline."""
    if _has(rest, "--baseline"):
        return None
    program = _program(rest)
    name = shlex.quote(Path(program[0]).name) if program else "job"
    return f"check --baseline {name}.check.json -- {shlex.join(program) if program else 'CMD'}"


def _tried(command: str, rest: Words) -> str | None:
    """ab or bisect with a program that no -- precedes, or with none."""
    if _has(rest, "--trace"):
        return None
    before = rest[: rest.index("--")] if "--" in rest else rest
    if traces := [word for word in before if Path(word).suffix == ".hst"]:
        designs = [word for word in before if _is_design(word)]
        designs += [word for word in ("default", "lean") if word not in designs][: max(0, 2 - len(designs))]
        return f"{command} {shlex.join(designs)} --trace {shlex.quote(traces[0])}"
    if "--" in rest:
        return None
    program = _program(rest)
    designs = rest[: len(rest) - len(program)] or ["default", "lean"]
    return f"{command} {shlex.join(designs)} -- {shlex.join(program) if program else 'CMD'}"


def _pinned(_: str, rest: Words) -> str | None:
    """pins without a process, or of a trace."""
    if rest and Path(rest[0]).suffix == ".hst":
        return f"mesh {shlex.quote(rest[0])}"
    return None if rest else "pins PID"


def _top(_: str, rest: Words) -> str | None:
    return None if rest else "top PID"


def _counted(_: str, rest: Words) -> str | None:
    """stats of nothing, or of a trace."""
    if not rest:
        return "run --stats report.json default -- CMD"
    return f"trace info {shlex.quote(trace)}" if (trace := _lone_trace(rest)) else None


RULES: dict[str, Callable[[str, Words], str | None]] = {
    "record": _recorded,
    "inspect": _forged,
    "forge": _forged,
    "run": _run,
    "compare": _compared,
    "build": _of_a_design,
    "generate": _of_a_design,
    "verify": _of_a_design,
    "trace": _trace,
    "design": _designs,
    "designs": _designs,
    "profile": _profiled,
    "diff": _changed,
    "guard": _guarded,
    "check": _checked,
    "ab": _tried,
    "bisect": _tried,
    "pins": _pinned,
    "top": _top,
    "stats": _counted,
}
