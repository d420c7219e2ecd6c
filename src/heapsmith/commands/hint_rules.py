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
from itertools import chain, count
from pathlib import Path

from heapsmith.model.files import STANDARD
from heapsmith.model.trace.frames import MAGIC
from heapsmith.tools.peers.peers import AS_SET, GLIBC, PEERS

Words = list[str]

OF_A_TRACE = ("simulate", "sites", "leaks", "mesh", "reuse", "knobs", "replay", "tune", "report", "guard")
OF_A_PROCESS = {
    "pins": "pins PID",
    "profile": "profile -- CMD",
    "stats": "run --stats report.json default -- CMD",
    "top": "top PID",
}
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
    """The trace that stands where a program ought to, besides options and mallocs."""
    programs = [word for word in given(rest) if not is_malloc(word)]
    return programs[0] if len(programs) == 1 and _is_trace(Path(programs[0])) else None


def free_name(name: str) -> str:
    """A name to write to at which nothing is, or an empty file: this one, or one with a number."""
    file = Path(name)
    numbered = (str(file.with_stem(f"{file.stem}-{number}")) for number in count(2))
    return next(one for one in chain([name], numbered) if not os.path.exists(one) or _is_empty(one))


def _is_empty(name: str) -> bool:
    return os.path.isfile(name) and not os.path.getsize(name)


def program_of(rest: Words) -> Words:
    """The words of the program among those of a command: behind --, or from the first that names a program on."""
    if "--" in rest:
        return rest[rest.index("--") + 1 :]
    at = next((number for number, word in enumerate(rest) if is_program(word)), len(rest))
    return rest[at:]


def given(rest: Words) -> Words:
    """The words of a command that are no options, of its program too."""
    return [word for word in rest if not word.startswith("-")]


def options(rest: Words) -> Words:
    """The options of a command, each with its value, before the program."""
    return [word for word in _before(rest) if word.startswith("-")]


def _before(rest: Words) -> Words:
    """The words of a command before its program."""
    return rest[: rest.index("--")] if "--" in rest else rest[: len(rest) - len(program_of(rest))]


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
    if given(_before(rest)):
        return None  # it would be lost
    name = f"{Path(program[0]).name if program else 't'}.hst"
    said = shlex.join(["record", *options(rest), "-o", name])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _behind(program: Words, *options: str) -> tuple[str, Words] | None:
    """The value of an option that stands behind a program, and the program without it."""
    at = next((number for number, word in enumerate(program[:-1]) if word in options), None)
    return None if at is None else (program[at + 1], program[:at] + program[at + 2 :])


def _forged(command: str, rest: Words) -> str | None:
    """forge or inspect without a folder, or without a program."""
    program = program_of(rest)
    if given(_before(rest)) or (program and _has(rest, "-o", "--out")):
        return None
    out = [] if _has(rest, "-o", "--out") else ["-o", "out"]
    return f"{shlex.join([command, *options(rest), *out])} -- {shlex.join(program) if program else 'CMD'}"


def _run(_: str, rest: Words) -> str | None:
    """run without a design: a program stands in its place."""
    at = next((number for number, word in enumerate(rest) if word == "--" or not word.startswith("-")), len(rest))
    words, behind = shlex.join(["run", *rest[:at]]), [word for word in rest[at:] if word != "--"]
    if not behind:
        return f"{words} default -- CMD"
    if rest[at] == "--" or (is_program(behind[0]) and not is_malloc(behind[0])):
        return f"{words} default -- {shlex.join(behind)}"
    return f"{words} {shlex.quote(behind[0])} -- CMD" if len(behind) == 1 and is_malloc(behind[0]) else None


def _compared(_: str, rest: Words) -> str | None:
    """compare without --lib: mallocs stand before the program, or nowhere."""
    if _has(rest, "--lib"):
        return None if program_of(rest) else f"compare {shlex.join(word for word in rest if word != '--')} -- CMD"
    at = next((number for number, word in enumerate(rest) if not (word.startswith("-") or is_malloc(word))), len(rest))
    at = rest.index("--") if "--" in rest else at
    libraries, program = given(rest[:at]), [word for word in rest[at:] if word != "--"]
    if not all(map(is_malloc, libraries)):
        return None
    libraries = libraries or [GLIBC, "default"]
    libraries = libraries if len(libraries) > 1 or libraries == ["glibc"] else ["glibc", *libraries]
    said = shlex.join(["compare", *options(rest[:at]), *(word for name in libraries for word in ("--lib", name))])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _of_a_trace(command: str, rest: Words) -> str | None:
    """A command of traces that got none, a program or a design in place of one, or nowhere to write to."""
    words = given(rest)
    if not words:
        return RECORD_FIRST
    if instead := _instead_of_a_trace(words[0], rest):
        return instead
    if command in ("simulate", "replay") and len(words) == 2 and words == rest:
        trace, design = words if is_there(words[0]) else reversed(words)
        option = {"simulate": "--design", "replay": "--lib"}[command]
        return f"{command} {shlex.quote(trace)} {option} {shlex.quote(design)}" if is_there(trace) else None
    stem = shlex.quote(Path(words[0].rpartition(":")[0] or words[0]).stem)
    wanted = {"tune": f"-o {stem}.toml", "report": "-o report.html", "replay": "--lib default"}.get(command)
    if wanted and is_there(words[0]) and not _has(rest, *wanted.split()[:1], "--out"):
        return f"{command} {shlex.join(rest)} {wanted}"
    return None


def is_there(name: str) -> bool:
    """Whether a word names a trace, a folder of traces, a trace with a weight, or standard input."""
    file = Path(name if os.path.exists(name) else name.rpartition(":")[0])
    return name == STANDARD or (bool(file.name) and (os.path.isdir(file) or _is_trace(file)))


def _instead_of_a_trace(name: str, rest: Words) -> str | None:
    """What makes a trace where a program stands in its place, a file of another tool, an empty one, or a script."""
    file = Path(name)
    if is_there(name):
        return None
    if is_program(name):
        return f"record -o {shlex.quote(file.name)}.hst -- {shlex.join(program_of(rest))}"
    if not os.access(file, os.R_OK) or not os.path.isfile(file) or is_design(name):
        return None
    from heapsmith.model.trace.imports.formats import is_known  # a command that is right must not wait for it

    if is_known(file):
        return _imported(name)
    if _is_empty(name):
        return f"record -o {shlex.quote(name)} -- CMD"
    return f"record -o {shlex.quote(file.stem)}.hst -- CMD {shlex.quote(name)}"


def _imported(name: str) -> str:
    return f"trace import {shlex.quote(name)} -o {shlex.quote(Path(name).name.partition('.')[0] or 'trace')}.hst"


def is_design(word: str) -> bool:
    """Whether a word names a design: a built-in one, or a file."""
    from heapsmith.model.design.design import builtin_names  # a command that is right must not wait for it

    return not word.startswith("-") and (Path(word).suffix == ".toml" or word in builtin_names())


def is_malloc(word: str) -> bool:
    """Whether a word names a malloc: glibc, a peer, a library or a design."""
    return word in (GLIBC, *PEERS, *AS_SET) or Path(word).suffix == ".so" or is_design(word)


def _swapped(command: str, rest: Words) -> str:
    """A command of a design and its traces, whose words begin with a trace: with the design first."""
    design = next((word for word in rest if is_design(word)), "default")
    return f"{command} {shlex.join([design, *(word for word in rest if word != design)])}"


def _of_a_design(command: str, rest: Words) -> str | None:
    """A command of designs that got none, a trace in place of one, or nowhere to write to."""
    words = given(rest)
    out = {"build": "-o libheap.so", "generate": "-o c", "verify": ""}[command]
    if not words:
        return " ".join(filter(None, [command, "default", shlex.join(options(rest)), "" if _has(rest, "-o") else out]))
    if Path(words[0]).suffix == ".hst":
        return _swapped(command, rest) if command == "verify" else f"tune {shlex.quote(words[0])} -o design.toml"
    if out and is_design(words[0]) and "--" not in rest and not _has(rest, "-o", "--out"):
        return f"{command} {shlex.join(rest)} {out}"
    return None


def _trace(_: str, rest: Words) -> str | None:
    """`trace` with a file in place of what to do with it, or an export or an import to nowhere."""
    if rest[1:] and is_there(rest[1]) == (rest[0] == "import"):
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


def _changed(_: str, rest: Words) -> str | None:
    """diff of one trace."""
    words = given(rest)
    return shlex.join(["diff", *(words or ["OLD.hst"]), "NEW.hst", *options(rest)]) if len(words) < 2 else None


def _guarded(_: str, rest: Words) -> str | None:
    """guard without a design, a trace or a baseline, or with a trace in the design's place."""
    designs = [word for word in given(rest) if is_design(word)]
    traces = [word for word in given(rest) if word not in designs]
    if len(designs) > 1:
        return None
    if instead := next(filter(None, (_instead_of_a_trace(word, rest) for word in traces)), None):
        return instead
    design, said = (designs or ["default"])[0], options(rest)
    if not _has(rest, "--baseline"):
        baseline = f"{Path(design).stem}.guard.json"
        said += ["--baseline", baseline]
        if not os.path.exists(baseline) and not _has(rest, "--write", "--format", "--save"):
            said.append("--write")
    elif designs[:1] == rest[:1] and traces:
        return None
    return shlex.join(["guard", design, *(traces or ["TRACE"]), *said])


def _checked(_: str, rest: Words) -> str | None:
    """check without a baseline."""
    if _has(rest, "--baseline") or given(_before(rest)):
        return None
    program = program_of(rest)
    name = Path(program[0]).name if program else "job"
    said = shlex.join(["check", *options(rest), "--baseline", f"{name}.check.json"])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _tried(command: str, rest: Words) -> str | None:
    """ab or bisect with a program that no -- precedes, or with none, or with too few designs."""
    if _has(rest, "--trace"):
        return None
    program = program_of(rest)
    traces = [word for word in given(_before(rest)) if Path(word).suffix == ".hst"]
    designs = [word for word in given(_before(rest)) if word not in traces]
    if not all(map(is_design, designs)) or ("--" in rest and not traces and designs):
        return None
    designs += [word for word in ("default", "lean") if word not in designs][: max(0, 2 - len(designs))]
    if traces:
        replayed = [word for trace in traces for word in ("--trace", trace)]
        return shlex.join([command, *designs, *replayed, *options(rest)])
    said = shlex.join([command, *designs, *options(rest)])
    return f"{said} -- {shlex.join(program) if program else 'CMD'}"


def _of_a_process(command: str, rest: Words) -> str | None:
    """A command of a process, or of what one wrote, that got none."""
    return None if rest else OF_A_PROCESS[command]


RULES: dict[str, Callable[[str, Words], str | None]] = {
    **dict.fromkeys(OF_A_TRACE, _of_a_trace),
    **dict.fromkeys(OF_A_PROCESS, _of_a_process),
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
    "diff": _changed,
    "guard": _guarded,
    "check": _checked,
    "ab": _tried,
    "bisect": _tried,
}
