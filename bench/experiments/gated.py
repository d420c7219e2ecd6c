"""A library whose malloc and free ask at run time what its design decided: the gates of the log's dispatcher.

No design states gates, and no library of heapsmith has them: this is the laboratory's, to price
them. It is the C of the design itself with questions put before malloc and free, one for each room
that would have a say in the call. All answers are those of the design, so what differs is the price
of asking.
"""

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Literal

from heapsmith.codegen.layouts import layouts_of
from heapsmith.model.design.design import Design
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_text
from heapsmith.model.toml_text import read_text

Form = Literal["each", "snapshot"]
"""each: a variable for each gate, as the log had them; snapshot: one word has all answers."""

FIRST = ("hardening", "counting", "segregation", "heaps", "front")
ROOMS = {
    "malloc": (*FIRST, "size_lookup", "rounding", "classifier", "learner"),
    "free": (*FIRST, "foreign", "classifier", "ownership", "remote"),
}
"""By function, the rooms that a library with every mechanism in it would ask in each call."""

ASKS = {
    "each": """\
static int gate_{name} = -1;
static __attribute__((cold, noinline)) int read_{name}(void)
{{
    const char *said = environment("HEAPSMITH_GATE_{upper}");
    return gate_{name} = said == NULL || *said != '0';
}}
static inline int is_on_{name}(void)
{{
    int on = __atomic_load_n(&gate_{name}, __ATOMIC_RELAXED);
    return on < 0 ? read_{name}() : on;
}}
""",
    "snapshot": "",
}
SNAPSHOT = """\
static uint64_t snapshot;
static __attribute__((cold, noinline)) uint64_t read_snapshot(void)
{{
    static const char *const names[] = {{ {names} }};
    uint64_t found = (uint64_t)1 << 63;
    for (size_t at = 0; at < sizeof names / sizeof *names; at++) {{
        const char *said = environment(names[at]);
        found |= (uint64_t)(said == NULL || *said != '0') << at;
    }}
    return snapshot = found;
}}
"""
ENVIRONMENT = """
/* getenv(3) of libc. The headers above are included as hidden. */
extern char *environment(const char *name) __asm__("getenv") __attribute__((visibility("default")));
"""
LAST_INCLUDE = "#pragma GCC visibility pop\n"


def gated_layouts(design: Design, form: Form) -> list[Path]:
    """Return the libraries of a design with gates, as `layouts_of` those without. Raises as it does."""
    return layouts_of(design, edit=partial(put_gates, form), mark=f"gates-{form}")


def put_gates(form: Form, emitted: Path) -> None:
    """Put gates into the C in a folder. CheckFailed if malloc or free is not where it is emitted."""
    file = emitted / "fast.c"
    text = read_text(file, str(file))
    rooms = list(dict.fromkeys(room for its in ROOMS.values() for room in its))
    before = "".join(ASKS[form].format(name=room, upper=room.upper()) for room in rooms)
    if form == "snapshot":
        before = SNAPSHOT.format(names=", ".join(f'"HEAPSMITH_GATE_{room.upper()}"' for room in rooms))
    text = _put(text, re.escape(LAST_INCLUDE), ENVIRONMENT + before)
    for function, its in ROOMS.items():
        text = _put(text, rf"^void \*?{function}\([a-z_]+ \*?[a-z]+\)\n{{\n", _question(form, its, rooms))
    write_text(file, text)


def _put(text: str, place: str, what: str) -> str:
    changed, count = re.subn(f"({place})", lambda found: found.group(1) + what, text, flags=re.MULTILINE)
    if count != 1:
        raise CheckFailed(f"fast.c: {place!r} is there {count} times; expected one place for the gates")
    return changed


def _question(form: Form, its: Sequence[str], rooms: Sequence[str]) -> str:
    """Return the lines that ask: a gate that is off has no code to go to here, and ends the program."""
    if form == "each":
        return "".join(f"    if (!is_on_{room}())\n        __builtin_trap();\n" for room in its)
    lines = ["    uint64_t gates = __atomic_load_n(&snapshot, __ATOMIC_RELAXED);\n"]
    lines += ["    if (gates == 0)\n        gates = read_snapshot();\n"]
    lines += [f"    if (!(gates >> {rooms.index(room)} & 1))\n        __builtin_trap();\n" for room in its]
    return "".join(lines)
