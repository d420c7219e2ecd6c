"""Liveness: a conformance run reaches every statement of the emitted C, and a program every one of heapsmith.h."""

import re
from pathlib import Path

import numpy as np
import pytest
from covering import covering_designs, of_each_row, soon
from loaded import FAST_TO_BUILD
from nasty import nasty_trace
from observed_lines import Process

from heapsmith.bench.gates.hot_paths import DESIGNS as GATED
from heapsmith.codegen.build import build_emitted
from heapsmith.codegen.difference import counter_names
from heapsmith.codegen.driver import Driver
from heapsmith.codegen.generate import generate
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.design.plan import Plan, make_plan
from heapsmith.model.heap.simulator import ASSUMED_PROCESSORS
from heapsmith.model.memory.layout import WORD

DESIGNS = [*map(load, builtin_names()), *covering_designs()]
FIRST = [load("default"), *of_each_row(1)]
SOON = [*map(load, GATED), *of_each_row(2)]

BODY = re.compile(r"^([a-z][^\n;{}]*?(\w+)\([^()\n]*\)\s*\{)( [^\n]*(?= \}$)|\n.*?(?=^\}))", re.MULTILINE | re.DOTALL)
"""A function up to its last brace: its head, its name and its body."""
MISUSE = re.compile(r"(?:>= CLASS_COUNT|row == 0)\) \{[^\n]*\n(?P<guarded>.*?\n)    \}\n", re.DOTALL)
"""What only a program's fault leads to: a header that the library did not write, or a slab without a class."""

NO_STATEMENT = ("}", "case ", "__builtin_unreachable();")
"""What begins no statement, or only tells the compiler something."""

COLLIDES = ("free_small: free_probed(block);", "free_small: return;", "free_probed: ")
"""What only superslabs with one place in a hash table come to, which tests/test_registry.py makes."""


class Watched:
    """Emitted C whose statements, each on lines of its own, say that they run: the n-th sets hs_reached[n]."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def text(self, text: str) -> str:
        """The text of another file, its statements watched."""
        return BODY.sub(self._function, text)

    def _function(self, found: re.Match[str]) -> str:
        head, name, body = found.groups()
        guarded = MISUSE.search(body)
        begins, is_branch, is_here, lines = True, False, True, [self._mark(name, "called")]
        for line in re.sub(r" */\*.*?\*/", "", body, flags=re.DOTALL).splitlines(keepends=True):
            code = line.strip()
            if code.startswith("#"):  # the other processors' lines are not compiled here
                is_here = not code.startswith("#else")
                lines.append(line)
                continue
            is_statement = begins and is_here and code not in ("", "}") and not code.startswith(NO_STATEMENT)
            if is_statement and not (guarded and line in guarded["guarded"]):
                mark = self._mark(name, code)
                lines.append(f"{{ {mark} {code} }}\n" if is_branch else f"{mark} {line}")
            else:
                lines.append(line)
            is_branch = code.startswith("if (") and code.endswith(")")
            begins = is_branch or code.endswith((";", "{", "}", ":")) or (begins and not code)
        return head + "".join(lines)

    def _mark(self, function: str, code: str) -> str:
        self.names.append(f"{function}: {code}")
        return f" hs_reached[{len(self.names) - 1}] = 1;"


def unreached(plan: Plan, emitted: Path) -> list[str]:
    """Statements of fast.c and plan.c in a folder that no event of a conformance run reaches."""
    watched = Watched()
    for name in ("fast.c", "plan.c"):
        text = (emitted / name).read_text()
        (emitted / name).write_text("extern unsigned long hs_reached[];\n" + watched.text(text))
    with (emitted / "fast.c").open("a") as end:
        end.write(f"unsigned long hs_reached[{len(watched.names)}];\n")
    built = build_emitted(emitted, emitted / "watched.so", flags=FAST_TO_BUILD)
    chunk = nasty_trace(plan, waves=10, crowd=2)
    with Driver(built, plan.grain, len(counter_names(plan))) as driver:
        driver.send(chunk, processors=chunk.thread.astype(np.int64) % ASSUMED_PROCESSORS)
        driver.receive(len(chunk.op))
        process = Process(driver._process.pid, built)
        start = process.symbols["hs_reached"].at
        return [name for place, name in enumerate(watched.names) if not process.word(start + WORD * place)]


@pytest.mark.thorough
@pytest.mark.parametrize("design", soon(DESIGNS, FIRST, SOON), ids=lambda design: design.name)
def test_every_emitted_statement_runs(design: Design, tmp_path: Path) -> None:
    generate(design, tmp_path)
    plan = make_plan(design)
    left = unreached(plan, tmp_path)
    excused = COLLIDES if COLLIDES[0] in left else ()
    excused += tuple(  # a stretch of a single block is used up by the miss that brought it
        f"alloc_{row.name}: " for row in plan.classes if row.front.kind == "bump" and row.front.capacity == 1
    )
    if design.heaps is not None:  # the front of a processor has no end, as a thread's has: malloc_trim alone drains it
        excused += ("hs_drain_front: ",)
    assert [name for name in left if not name.startswith(excused)] == []


@pytest.mark.thorough
def test_statements_that_never_run_are_named(tmp_path: Path) -> None:
    """A function that nothing calls, and a return for a pointer that never comes."""
    design = Design("small", [16, 32])
    generate(design, tmp_path)
    text = (tmp_path / "fast.c").read_text()
    dead = "void *dead(void)\n{\n    return hs_self;\n}\n\nstatic inline void push("
    head = "void hs_free_small(void *block)\n{\n"
    never = head + "    if (block == NULL)\n        return;\n"
    changed = text.replace("static inline void push(", dead).replace(head, never)
    (tmp_path / "fast.c").write_text(changed)
    assert unreached(make_plan(design), tmp_path) == ["dead: called", "dead: return hs_self;", "hs_free_small: return;"]
