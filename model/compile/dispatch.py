"""Dispatch: the rows of a policy table, and kernels that call what rows answer to a question or a moment.

A question goes to the one row that a design has of a table; a moment goes to every row that answers
it, in the order of the tables. Who asks imports the question alone, not the rows: the tables bind
both when they are imported (`bind`).
"""

import importlib
import inspect
import linecache
import pkgutil
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CodeType, FunctionType, ModuleType
from typing import Any, TypeVar, cast

import msgspec

from heapsmith.model.compile.kernel import hit_path, kernel

Stub = TypeVar("Stub", bound=Callable[..., Any])
Tables = Mapping[str, Sequence[ModuleType]]

FRONT_KIND = 'int(state.classes[cls]["front"])'
"""The code of the row that a class has of the only table of which a design has a row for each class."""


class Asked(msgspec.Struct, frozen=True):
    """A question or a moment: the kernel that callers know, and what it is of.

    table: that whose row answers; empty: all of them. function: the name of the rows' answer.
    body: what a row without an answer does; None: each row answers.
    """

    kernel: Any
    table: str
    function: str
    body: CodeType | None


_ASKED: list[Asked] = []


def rows_of(room: str, folders: Iterable[str]) -> tuple[ModuleType, ...]:
    """Return the policies of a room: the modules of its package with a NAME, DEFAULT first.

    folders: the package's __path__. The other rows are sorted by name; a row's place is its code.
    """
    rows = [module for module in _named(room, folders) if not hasattr(module, "SPELLS")]
    return tuple(sorted(rows, key=lambda row: (not hasattr(row, "DEFAULT"), row.NAME)))


def spellings_of(room: str, folders: Iterable[str]) -> tuple[ModuleType, ...]:
    """Return the modules of a room with a NAME that are no rows: words of a design file for some."""
    return tuple(module for module in _named(room, folders) if hasattr(module, "SPELLS"))


def _named(room: str, folders: Iterable[str]) -> list[ModuleType]:
    modules = [importlib.import_module(f"{room}.{found.name}") for found in pkgutil.iter_modules(folders)]
    return [module for module in modules if hasattr(module, "NAME")]


def question(table: str, function: str, *, hit: bool = False) -> Callable[[Stub], Stub]:
    """Mark a function as a question to a table: a kernel that calls `function` of the design's row.

    Its body is the answer of a row without that function, unless DEFAULTS of the rows' package has
    another; where the body raises NotImplementedError, each row has the function. hit: a compiled
    kernel becomes part of its callers.
    """

    def mark(stub: Stub) -> Stub:
        plain = cast(FunctionType, stub)
        _ASKED.append(Asked(plain, table, function, None if _is_open(plain) else plain.__code__))
        return (hit_path if hit else kernel)(stub)

    return mark


def moment(stub: Stub) -> Stub:
    """Mark a function without a body as a moment: a kernel that calls each row's function of its name."""
    plain = cast(FunctionType, stub)
    _ASKED.append(Asked(plain, "", plain.__name__, plain.__code__))
    return kernel(stub)


def _is_open(stub: FunctionType) -> bool:
    return NotImplementedError.__name__ in stub.__code__.co_names


def bind(tables: Tables) -> None:
    """Let the questions and moments call the rows of the tables.

    Raises TypeError if a row lacks an answer or has other parameters than the question, if a row has
    an answer and no COSTS (it would cost nothing), or if a question is to a table that is not there.
    """
    bound = [_question(asked, tables[asked.table]) if asked.table else _moment(asked, tables) for asked in _ASKED]
    for asked, (lines, functions) in zip(_ASKED, bound, strict=True):
        _become(asked, lines, functions)


Bound = tuple[list[str], list[FunctionType]]
"""The lines of a bound kernel, and the functions that it calls."""


def _question(asked: Asked, rows: Sequence[ModuleType]) -> Bound:
    code = FRONT_KIND if asked.table == "front" else f"state.{asked.table}_code"
    defaults = getattr(importlib.import_module(rows[0].__name__.rpartition(".")[0]), "DEFAULTS", {})
    silent = defaults.get(asked.function) or (asked.body and _copy(asked))
    functions = [_answer(asked, row) or silent for row in rows]
    if missing := [row.NAME for row, one in zip(rows, functions, strict=True) if one is None]:
        raise TypeError(f"{asked.table}: expected {asked.function} of {', '.join(missing)}")
    tests = [_test(code, rows, place) for place in range(len(rows))]
    known = cast(list[FunctionType], functions)
    return _branches(asked.kernel, known, tests), known


def _moment(asked: Asked, tables: Tables) -> Bound:
    lines, functions = _head(asked.kernel), list[FunctionType]()
    for table, rows in tables.items():
        answers = [_answer(asked, row) for row in rows]
        for one in dict.fromkeys(filter(None, answers)):
            if table == "front":
                raise TypeError(f"front: {asked.function}: a moment is of no class")
            places = [place for place in range(len(rows)) if answers[place] is one]
            tests = [_test(f"state.{table}_code", rows, place) for place in places]
            lines += [f"    if {' or '.join(tests)}:", f"        {_call(one, asked.kernel)}"]
            functions.append(one)
    return lines, functions


def _answer(asked: Asked, row: ModuleType) -> FunctionType | None:
    """Return a row's answer, or None; TypeError if it does not fit the question."""
    found = getattr(row, asked.function, None)
    if not isinstance(found, FunctionType) or found is asked.kernel:
        return None
    if not hasattr(row, "COSTS"):
        raise TypeError(f"{row.NAME}: {asked.function}: expected COSTS")
    if (names := list(_parameters(found))) != (wanted := list(_parameters(asked.kernel))):
        raise TypeError(f"{row.NAME}: {asked.function}({', '.join(names)}); expected ({', '.join(wanted)})")
    return found


def is_rare(rows: Sequence[ModuleType]) -> bool:
    """Return whether a table's code is 0 in each design without a rare choice: all its other rows have RARE."""
    return all(hasattr(row, "RARE") == (place > 0) for place, row in enumerate(rows))


def _test(code: str, rows: Sequence[ModuleType], place: int) -> str:
    """Return the condition that a row serves.

    A row with RARE serves only designs in which `state.rare_rows` is 1, so that the event loop of the
    others is compiled without it. A variable for the code would hide from the pruner
    (model/compile/prune.py) that a condition is known.
    """
    is_told_apart = hasattr(rows[place], "RARE") and not is_rare(rows)
    return f"{'state.rare_rows > 0 and ' * is_told_apart}{code} == {place}"


def _copy(asked: Asked) -> FunctionType:
    """Return a kernel with the body of a question, before it is bound."""
    plain = asked.kernel
    twin = FunctionType(cast(CodeType, asked.body), plain.__globals__, plain.__name__)
    twin.__annotations__, twin.__module__ = plain.__annotations__, plain.__module__
    return kernel(twin)


def _parameters(function: FunctionType) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _callee(function: FunctionType) -> str:
    return f"{'_'.join(function.__module__.split('.')[-2:])}_{function.__name__}"


def _call(function: FunctionType, stub: FunctionType) -> str:
    return f"{_callee(function)}({', '.join(_parameters(stub))})"


def _head(stub: FunctionType) -> list[str]:
    typed = [f"state: {p.annotation.__name__}" if name == "state" else name for name, p in _parameters(stub).items()]
    return [f"def {stub.__name__}({', '.join(typed)}):", f'    """{stub.__name__}, as the rows answer."""']


def _branches(stub: FunctionType, functions: Sequence[FunctionType], tests: Sequence[str]) -> list[str]:
    """Return lines with a branch for each function; the function of most rows comes last.

    tests: for each row, the condition that it serves.
    """
    acts = inspect.signature(stub).return_annotation is None
    served = {one: [test for test, row in zip(tests, functions, strict=True) if row is one] for one in functions}
    ordered = sorted(served, key=lambda one: len(served[one]))
    lines = _head(stub)
    if functions[0] is ordered[-1] and len(ordered) > 1 and not acts:  # most designs have the first row
        lines += [f"    if {tests[0]}:", f"        return {_call(functions[0], stub)}"]
    for one in ordered:
        test = " or ".join(served[one])
        body = _call(one, stub) if acts else f"return {_call(one, stub)}"
        if one is ordered[-1]:
            lines += ["    else:", f"        {body}"] if len(ordered) > 1 and acts else [f"    {body}"]
        else:
            lines += [f"    {'if' if one is ordered[0] or not acts else 'elif'} {test}:", f"        {body}"]
    return lines


def _become(asked: Asked, lines: Sequence[str], functions: Iterable[FunctionType]) -> None:
    """Give a question's kernel the code of these lines, and the names that they call."""
    stub = asked.kernel
    source = "\n".join(lines) + "\n"
    file = f"<{stub.__module__}.{stub.__name__}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    stub.__globals__.update({_callee(one): one for one in functions})
    space: dict[str, Any] = {parameter.annotation.__name__: parameter.annotation for parameter in _states(stub)}
    exec(compile(source, file, "exec"), space)
    stub.__code__ = space[stub.__name__].__code__


def _states(stub: FunctionType) -> list[inspect.Parameter]:
    return [parameter for name, parameter in _parameters(stub).items() if name == "state"]
