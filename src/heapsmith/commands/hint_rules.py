"""The rules by which hints.py says what was meant: one for each command that newcomers give other words than it takes.

A rule gets the name of its command and the words behind it, where an option and its value are one word
(parsing.bound), and returns the words that were meant, or None. It asks os.path of files, which answers
for any word: Path raises OSError for names that are too long and in folders that may not be entered.
"""

import os
import shlex
import shutil
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from pathlib import Path

from heapsmith.model.files import STANDARD
from heapsmith.model.trace.frames import MAGIC

Words = list[str]

MALLOCS = ("glibc", "default", "jemalloc", "mimalloc2", "mimalloc3", "tcmalloc", "snmalloc", "rpmalloc")
OF_A_TRACE = ("simulate", "sites", "leaks", "mesh", "reuse", "knobs", "replay", "tune", "report", "guard")
RECORD_FIRST = "record -o t.hst -- CMD"


def is_program(word: str) -> bool:
    """Whether a word names a program of PATH, or an executable file."""
    return shutil.which(word) is not None


def _is_trace(file: Path) -> bool:
    """Whether a file can be read, and is a trace: a program may be one that this user can only execute."""
    if os.path.isfile(file):  # to open a pipe would wait
        with suppress(OSError), file.open("rb") as content:
            return content.read(len(MAGIC)) == MAGIC
    return False


def lone_trace(rest: Words) -> str | None:
    """The trace that stands where a program ought to, besides options, mallocs and where to write to."""
    outs = {value for option, value in pairwise(rest) if option in ("-o", "--out")}  # behind a trace, too
    programs = [word for word in _given(rest) if word not in MALLOCS and word not in outs]
    return programs[0] if len(programs) == 1 and _is_trace(Path(programs[0])) else None


def program_of(rest: Words) -> Words:
    """The words of the program among those of a command: behind --, or from the first that names a program on."""
    if "--" in rest:
        return rest[rest.index("--") + 1 :]
    at = next((number for number, word in enumerate(rest) if is_program(word)), len(rest))
    return rest[at:]


def _given(rest: Words) -> Words:
    """The words of a command that are no options, of its program too."""
    return [word for word in rest if not word.startswith("-")]


def _options(rest: Words) -> Words:
    """The options of a command, each with its value, before the program."""
    before = rest[: rest.index("--")] if "--" in rest else rest[: len(rest) - len(program_of(rest))]
    return [word for word in before if word.startswith("-")]


def _has(rest: Words, *options: str) -> bool:
    before = rest[: rest.index("--")] if "--" in rest else rest
    return any(word.startswith(options) for word in before)


def _recorded(_: str, rest: Words) -> str | None:
    """record without -o, or without a program or a process."""
    if _has(rest, "--pid"):
        return None if _has(rest, "-o", "--out") else f"record -o t.hst {shlex.join(rest)}"
    program = program_of(rest)
    if _has(rest, "-o", "--out"):
        if program and "--" not in rest and (misplaced := _behind(program, "-o", "--out")):
            out, program = misplaced
            return f"record -o {shlex.quote(out)} -- {shlex.join(program)}"
        return None if program else f"record {shlex.join(word for word in rest if word != '--')} -- CMD"
    name = f"{Path(program[0]).name if program else 't'}.hst"
    said = shlex.join(["record", *_options(rest), "-o", name])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _behind(program: Words, *options: str) -> tuple[str, Words] | None:
    """The value of an option that stands behind a program, and the program without it."""
    at = next((number for number, word in enumerate(program[:-1]) if word in options), None)
    return None if at is None else (program[at + 1], program[:at] + program[at + 2 :])


def _forged(command: str, rest: Words) -> str | None:
    """forge or inspect without a folder, or without a program."""
    program = program_of(rest)
    if program and _has(rest, "-o", "--out"):
        return None
    options = _options(rest) if _has(rest, "-o", "--out") else [*_options(rest), "-o", "out"]
    return f"{shlex.join([command, *options])} -- {shlex.join(program) if program else 'CMD'}"


def _run(_: str, rest: Words) -> str | None:
    """run without a design: a program stands in its place."""
    at = next((number for number, word in enumerate(rest) if word == "--" or not word.startswith("-")), len(rest))
    words, given = shlex.join(["run", *rest[:at]]), [word for word in rest[at:] if word != "--"]
    if not given:
        return f"{words} default -- CMD"
    is_design = Path(given[0]).suffix in (".toml", ".so") or given[0] in MALLOCS
    if rest[at] == "--" or (is_program(given[0]) and not is_design):
        return f"{words} default -- {shlex.join(given)}"
    return f"{words} {shlex.quote(given[0])} -- CMD" if len(given) == 1 and is_design else None


def _compared(_: str, rest: Words) -> str | None:
    """compare without --lib: mallocs stand before the program, or nowhere."""
    kept = _options(rest)
    if _has(rest, "--lib"):
        return None if program_of(rest) else f"compare {shlex.join(word for word in rest if word != '--')} -- CMD"
    before = rest[: rest.index("--")] if "--" in rest else rest
    libraries = [word for word in _given(before) if word in MALLOCS or Path(word).suffix in (".toml", ".so")]
    program = [word for word in program_of(rest) if word not in libraries]
    libraries = libraries or [*MALLOCS[:2]]
    libraries = libraries if len(libraries) > 1 or libraries == ["glibc"] else ["glibc", *libraries]
    said = shlex.join(["compare", *kept, *(word for name in libraries for word in ("--lib", name))])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _of_a_trace(command: str, rest: Words) -> str | None:
    """A command of traces that got none, a program or a design in place of one, or nowhere to write to."""
    given = _given(rest)
    if not given:
        return RECORD_FIRST
    if instead := _instead_of_a_trace(given[0], rest):
        return instead
    if command in ("simulate", "replay") and len(given) == 2 and given == rest:
        trace, design = given if is_there(given[0]) else reversed(given)
        option = {"simulate": "--design", "replay": "--lib"}[command]
        return f"{command} {shlex.quote(trace)} {option} {shlex.quote(design)}" if is_there(trace) else None
    stem = shlex.quote(Path(given[0]).stem)
    wanted = {"tune": f"-o {stem}.toml", "report": "-o report.html", "replay": "--lib default"}.get(command)
    if wanted and is_there(given[0]) and not _has(rest, *wanted.split()[:1], "--out"):
        return f"{command} {shlex.join(rest)} {wanted}"
    return None


def is_there(name: str) -> bool:
    """Whether a word names a trace, a folder of traces, a trace with a weight, or standard input."""
    file = Path(name if os.path.exists(name) else name.rpartition(":")[0])
    return name == STANDARD or (bool(file.name) and (os.path.isdir(file) or _is_trace(file)))


def _instead_of_a_trace(name: str, rest: Words) -> str | None:
    """What makes a trace where a program stands in its place, a file of another tool, an empty one, or a script."""
    file = Path(name)
    if is_program(name):
        return f"record -o {shlex.quote(file.name)}.hst -- {shlex.join(program_of(rest))}"
    if not os.access(file, os.R_OK) or not os.path.isfile(file) or _is_trace(file) or is_design(name):
        return None
    from heapsmith.model.trace.imports.formats import is_known  # a command that is right must not wait for it

    if is_known(file):
        return _imported(name)
    if not file.stat().st_size:
        return f"record -o {shlex.quote(name)} -- CMD"
    return f"record -o {shlex.quote(file.stem)}.hst -- CMD {shlex.quote(name)}"


def _imported(name: str) -> str:
    return f"trace import {shlex.quote(name)} -o {shlex.quote(Path(name).name.partition('.')[0] or 'trace')}.hst"


def is_design(word: str) -> bool:
    """Whether a word names a design: a built-in one, or a file."""
    from heapsmith.model.design.design import builtin_names  # a command that is right must not wait for it

    return not word.startswith("-") and (Path(word).suffix == ".toml" or word in builtin_names())


def _swapped(command: str, rest: Words) -> str:
    """A command of a design and its traces, whose words begin with a trace: with the design first."""
    design = next((word for word in rest if is_design(word)), "default")
    return f"{command} {shlex.join([design, *(word for word in rest if word != design)])}"


def _of_a_design(command: str, rest: Words) -> str | None:
    """A command of designs that got none, a trace in place of one, or nowhere to write to."""
    given = _given(rest)
    out = {"build": "-o libheap.so", "generate": "-o c", "verify": ""}[command]
    if not given:
        return " ".join(filter(None, [command, "default", shlex.join(_options(rest)), "" if _has(rest, "-o") else out]))
    if Path(given[0]).suffix == ".hst":
        return _swapped(command, rest) if command == "verify" else f"tune {shlex.quote(given[0])} -o design.toml"
    if out and is_design(given[0]) and "--" not in rest and not _has(rest, "-o", "--out"):
        return f"{command} {shlex.join(rest)} {out}"
    return None


def _trace(_: str, rest: Words) -> str | None:
    """`trace` with a file in place of what to do with it, or an export or an import to nowhere."""
    if rest[1:] and not is_there(rest[1]) and rest[0] != "import":
        return None
    if rest[:1] == ["export"] and len(rest) == 2:
        return f"trace export {shlex.quote(rest[1])} -o {shlex.quote(Path(rest[1]).stem)}.csv"
    if rest[:1] == ["import"]:
        return _imported(rest[1]) if len(rest) == 2 else None
    return f"trace info {shlex.quote(rest[0])}" if rest and os.path.exists(rest[0]) else None


def _designs(command: str, rest: Words) -> str | None:
    """A design behind `designs`, or behind `design` without what to do with it; or a trace in its place."""
    if not rest:
        return "designs"
    word = rest[-1] if rest[0] in ("show", "check") and command == "design" else rest[0]
    if Path(word).suffix == ".hst":
        return f"trace info {shlex.quote(word)}"
    if word is rest[0] and is_design(word):
        return f"design show {shlex.quote(word)}"
    return f"design {rest[0]} default" if len(rest) == 1 and rest[0] in ("show", "check") else None


def _profiled(_: str, rest: Words) -> str | None:
    """profile of nothing, or of a trace, which has all events."""
    if not rest:
        return "profile -- CMD"
    return f"sites {shlex.quote(rest[0])}" if Path(rest[0]).suffix == ".hst" else None


def _changed(_: str, rest: Words) -> str | None:
    """diff of one trace."""
    given = _given(rest)
    return f"diff {shlex.quote(given[0]) if given else 'OLD.hst'} NEW.hst" if len(given) < 2 else None


def _guarded(_: str, rest: Words) -> str | None:
    """guard without a design, a trace or a baseline, or with a trace in the design's place."""
    designs = [word for word in _given(rest) if is_design(word)]
    traces = [word for word in _given(rest) if word not in designs]
    if len(designs) > 1:
        return None
    if instead := next(filter(None, (_instead_of_a_trace(word, rest) for word in traces)), None):
        return instead
    design, options = (designs or ["default"])[0], _options(rest)
    if not _has(rest, "--baseline"):
        baseline = f"{Path(design).stem}.guard.json"
        options += ["--baseline", baseline]
        if not os.path.exists(baseline) and not _has(rest, "--write", "--format", "--save"):
            options.append("--write")
    elif designs[:1] == rest[:1] and traces:
        return None
    return shlex.join(["guard", design, *(traces or ["TRACE"]), *options])


def _checked(_: str, rest: Words) -> str | None:
    """check without a baseline."""
    if _has(rest, "--baseline"):
        return None
    program = program_of(rest)
    name = Path(program[0]).name if program else "job"
    said = shlex.join(["check", *_options(rest), "--baseline", f"{name}.check.json"])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _tried(command: str, rest: Words) -> str | None:
    """ab or bisect with a program that no -- precedes, or with none, or with too few designs."""
    if _has(rest, "--trace"):
        return None
    program = program_of(rest)
    before = rest[: rest.index("--")] if "--" in rest else rest[: len(rest) - len(program)]
    traces = [word for word in _given(before) if Path(word).suffix == ".hst"]
    designs = [word for word in _given(before) if word not in traces]
    if not all(map(is_design, designs)) or ("--" in rest and not traces and designs):
        return None
    designs += [word for word in ("default", "lean") if word not in designs][: max(0, 2 - len(designs))]
    if traces:
        return f"{command} {shlex.join(designs)} --trace {shlex.quote(traces[0])}"
    said = shlex.join([command, *designs, *_options(rest)])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


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
    return f"trace info {shlex.quote(trace)}" if (trace := lone_trace(rest)) else None


RULES: dict[str, Callable[[str, Words], str | None]] = {
    **dict.fromkeys(OF_A_TRACE, _of_a_trace),
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
