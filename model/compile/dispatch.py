"""Dispatch: the rows of a policy table, and kernels that call the row of a code in the state."""

import importlib
import inspect
import linecache
import pkgutil
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType, ModuleType
from typing import Any, cast

from heapsmith.model.compile.kernel import hit_path, kernel


def rows_of(room: str, folders: Iterable[str]) -> tuple[ModuleType, ...]:
    """Return the policies of a room: the modules of its package with a NAME, DEFAULT first.

    folders: the package's __path__. The other rows are sorted by name; a row's place is its code.
    """
    modules = [importlib.import_module(f"{room}.{found.name}") for found in pkgutil.iter_modules(folders)]
    rows = [module for module in modules if hasattr(module, "NAME")]
    return tuple(sorted(rows, key=lambda row: (not hasattr(row, "DEFAULT"), row.NAME)))


def dispatched(
    rows: Sequence[ModuleType],
    function: str,
    code: str,
    default: Callable[..., Any] | None = None,
    *,
    hit: bool = False,
) -> Callable[..., int]:
    """Return a kernel that calls `function` of one row; rows without it have `default`.

    All rows' functions have the same parameters. code: the expression for the row's code. hit: a
    compiled kernel becomes part of its callers. A row with RARE serves only designs in which
    `state.rare_rows` is 1, so that the event loop of the others is compiled without it. Raises
    TypeError if a row lacks both the function and a default, or has other parameters, or if it has
    the function and no COSTS: it would cost nothing.
    """
    room = rows[0].__name__.rsplit(".", 2)[1]
    name = f"{room}_{function}"
    functions = [cast(FunctionType, getattr(row, function, default)) for row in rows]
    free = [row.NAME for row in rows if hasattr(row, function) and not hasattr(row, "COSTS")]
    if free:
        raise TypeError(f"{name}: expected COSTS of {', '.join(free)}")
    signatures = {str(inspect.signature(one).replace(return_annotation=None)) for one in functions if one}
    if None in functions or len(signatures) > 1:
        raise TypeError(f"{name}: expected the same function of every row, found {', '.join(sorted(signatures))}")
    tests = [f"{'state.rare_rows > 0 and ' * hasattr(row, 'RARE')}{code} == {place}" for place, row in enumerate(rows)]
    source = _source(name, functions, tests)
    file = f"<{name} of {', '.join(row.NAME for row in rows)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    space = functions[0].__globals__ | {_callee(one): one for one in functions}
    exec(compile(source, file, "exec"), space)
    return cast(Callable[..., int], (hit_path if hit else kernel)(space[name]))


def _callee(function: FunctionType) -> str:
    return f"{function.__module__.rsplit('.', 1)[1]}_{function.__name__}"


def _source(name: str, functions: Sequence[FunctionType], tests: Sequence[str]) -> str:
    """Return Python with a branch for each function; the function of most rows comes last.

    tests: for each row, the condition that it serves. A variable for the code would hide from the
    pruner (model/compile/prune.py) that a condition is known.
    """
    parameters = inspect.signature(functions[0]).parameters
    state = parameters["state"].annotation.__name__
    typed = [f"state: {state}" if word == "state" else word for word in parameters]
    acts = inspect.signature(functions[0]).return_annotation is None
    served = {one: [test for test, row in zip(tests, functions, strict=True) if row is one] for one in functions}
    ordered = sorted(served, key=lambda one: len(served[one]))
    lines = [f"def {name}({', '.join(typed)}):", f'    """{name} of one row."""']
    if functions[0] is ordered[-1] and len(ordered) > 1 and not acts:  # most designs have the first row
        lines += [f"    if {tests[0]}:", f"        return {_callee(functions[0])}({', '.join(parameters)})"]
    for one in ordered:
        test = " or ".join(served[one])
        call = f"{_callee(one)}({', '.join(parameters)})"
        body = call if acts else f"return {call}"
        if one is ordered[-1]:
            lines += ["    else:", f"        {body}"] if len(ordered) > 1 and acts else [f"    {body}"]
        else:
            lines += [f"    {'if' if one is ordered[0] or not acts else 'elif'} {test}:", f"        {body}"]
    return "\n".join(lines) + "\n"
