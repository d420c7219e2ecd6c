"""The guide for assistants: which command answers which question. It is made of the commands' own help and schemas.

`python -m heapsmith.commands.guide` writes it to src/heapsmith/llms.txt, which wheels and the site have.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import heapsmith
from heapsmith.commands import man
from heapsmith.commands.designs import Kind
from heapsmith.commands.options import parameter_records
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import SCHEMA_KINDS, schema_file

FILE = Path(heapsmith.__file__).parent / "llms.txt"
RESULTS = [kind for kind in get_args(Kind) if kind not in SCHEMA_KINDS]
"""The commands whose result has a schema."""

QUESTIONS = (
    ("What does this program allocate, and which code does it?", "inspect -o out -- CMD"),
    ("Write a trace of a program's allocations, for all that follows", "record --only --stacks -o job.hst -- CMD"),
    ("How many events, threads, sizes; how much is live at the peak?", "trace info job.hst --json"),
    ("Which code is the memory for, and what can be done about it?", "sites job.hst --json"),
    ("What was never freed?", "leaks job.hst --json"),
    ("What changed between two versions of a program?", "diff before.hst after.hst --json"),
    ("What would other designs of malloc do?", "simulate job.hst --design default --design lean --json"),
    ("What are the committed bytes for?", "simulate job.hst --design default --bytes --json"),
    ("What is in a design, and what follows from it?", "design show default --json"),
    ("Which designs are built in?", "designs --json"),
    ("Find a better design for this workload", "tune job.hst -o job.toml --json"),
    ("Do all of it: record, search, prove, measure, say whether it pays", "forge -o out -- CMD"),
    ("Is the emitted C exactly the model?", "verify job.toml job.hst --json"),
    ("Make the library of a design", "build job.toml -o libjob.so"),
    ("Run a program under a design", "run job.toml -- CMD"),
    ("Is it faster or smaller, with intervals?", "compare --lib glibc --lib job.toml --json -- CMD"),
    ("Does a change of the program ask for more memory? For CI", "check --baseline job.check.json -- CMD"),
    ("Does the tuned design still fit new recordings? For CI", "guard job.toml new.hst --baseline job.guard.json"),
    ("What does the heap of a running process do?", "top PID --once --json"),
    ("Who holds the live heap of a running service?", "profile PID --json"),
    ("What do few live blocks keep resident in a running process?", "pins PID --json"),
    ("Whose is this address, and is the heap damaged? Of a core file", "core FILE ADDRESS --json"),
    ("Read another tool's recording", "trace import FILE -o job.hst"),
    ("Does this machine have all that is needed?", "doctor --json"),
)
"""Questions, and the command that answers each."""


def guide() -> str:
    """Return the page."""
    (main, _), commands = man.commands()
    lines = [
        f"# heapsmith {heapsmith.__version__}",
        "",
        f"> {main.help}",
        "",
        "A trace (.hst) is what a program did with malloc; a design (TOML) is every choice that an allocator makes.",
        "Simulations are exact in counts and bytes, and predict times. Nothing here changes the program.",
        "CMD is a program with its arguments. Most commands print JSON with --json, progress and errors on stderr.",
        "",
        "## Which command for which question",
        "",
        *(f"- {question}: `heapsmith {words}`" for question, words in QUESTIONS),
        "",
        "## Exit status",
        "",
        *(f"- {number}: {said}" for number, said in man.STATUS),
        "",
        "## JSON Schemas",
        "",
        "- of files: " + ", ".join(f"`heapsmith schema {kind}`" for kind in SCHEMA_KINDS),
        "- in the package: " + ", ".join(f"`model/schemas/{schema_file(kind).name}`" for kind in SCHEMA_KINDS),
        "- of results with --json: " + ", ".join(f"`heapsmith schema {command}`" for command in RESULTS),
        "",
        "## Environment",
        "",
        *(f"- {name}: {said}" for name, said in man.ENVIRONMENT),
        "",
        "## Commands",
    ]
    for words, (command, inner) in commands.items():
        lines += _of_command(" ".join(words), command, inner)
    return "\n".join(lines) + "\n"


def _of_command(words: str, command: Any, ctx: Any) -> Iterator[str]:
    """Yield the lines of a command: its purpose, usage, options with what they do, and examples."""
    yield from ("", f"### {words}", "", " ".join(command.help.split()), "")
    yield f"- usage: `{' '.join([words, *command.collect_usage_pieces(ctx)])}`"
    for _, records in parameter_records(command, ctx):
        yield from (f"- `{name}`: {' '.join(said.split())}" for name, said in records if "--help" not in name)
    for line in (command.epilog or "").removeprefix("\b\nExamples:\n").splitlines():
        yield f"- example: `{line.strip()}`"


def write() -> None:
    """Write the page to the package."""
    write_text(FILE, guide())


if __name__ == "__main__":
    write()
