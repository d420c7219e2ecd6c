"""Reads the emitted C with pycparser: functions, tables, enumerators, and the facts of a node."""

import re
from collections import Counter
from operator import add, floordiv, lshift, mul, rshift, sub
from pathlib import Path
from typing import Any, NamedTuple

from pycparser import CParser, c_ast, c_generator

from heapsmith.codegen.toolchain import find_gcc, run_tool
from heapsmith.model.errors import CheckFailed

PLAIN_C = [
    *("-D__attribute__(x)=", "-D__extension__=", "-D__thread=", "-D__inline=inline", "-D__restrict="),
    *(
        "-D__asm__(...)=",
        "-DSEQUENCE(...)=",
        "-D__builtin_offsetof=offsetof",
        "-D__builtin_va_list=int",
        "-D_Noreturn=",
    ),
]
"""Definitions that remove GCC's extensions from the system's headers for pycparser."""

PLAIN_TABLE = re.compile(r"const uint8_t (\w+)\[\w+\] = \{([\d,\s]*)\};")
"""A long table of integers; pycparser would take some 30 us for each of them."""

Numbers = dict[Any, Any]
"""A table or a table row: by index or field, an integer, name, None (NULL), text, or Numbers."""

OPERATORS = {"+": add, "-": sub, "*": mul, "/": floordiv, "<<": lshift, ">>": rshift}


class Unit(NamedTuple):
    """The preprocessed C: functions, the runtime's inline functions, tables, enumerators."""

    functions: dict[str, c_ast.FuncDef]
    inline: dict[str, c_ast.FuncDef]
    tables: dict[str, Any]
    enums: dict[str, int]


def parse(emitted: Path, runtime: Path) -> Unit:
    """Parse fast.c and plan.c of the folder `emitted` with the headers of `runtime`.

    Raises CheckFailed if the preprocessor or pycparser rejects them, Missing without gcc.
    """
    command = [find_gcc().path, "-E", "-std=gnu17", *PLAIN_C, f"-I{emitted}", f"-I{runtime}", "-x", "c", "-"]
    both = '#include "fast.c"\n#include "plan.c"\n'
    text = run_tool(command, "the emitted C", both)
    plain = {name: dict(enumerate(map(int, re.findall(r"\d+", row)))) for name, row in PLAIN_TABLE.findall(text)}
    try:
        tree = CParser().parse(PLAIN_TABLE.sub("", text), "emitted C")
    except Exception as error:  # the exception's class differs between pycparser 2 and 3
        raise CheckFailed(f"pycparser cannot read the emitted C: {error}") from None
    unit = Unit({}, {}, plain, {})
    for node in tree.ext:
        ours = node.coord is not None and Path(node.coord.file).parent == emitted
        if isinstance(node, c_ast.FuncDef):
            own = ours and not node.coord.file.endswith(".h")  # moments.h calls what the runtime's headers do
            (unit.functions if own else unit.inline)[node.decl.name] = node
        elif isinstance(node, c_ast.Decl) and ours and isinstance(node.type, c_ast.Enum):
            following = 0
            for enumerator in node.type.values.enumerators:
                unit.enums[enumerator.name] = value(enumerator.value, unit.enums) if enumerator.value else following
                following = unit.enums[enumerator.name] + 1
        elif isinstance(node, c_ast.Decl) and ours and node.init is not None:
            unit.tables[node.name] = value(node.init, unit.enums)
    return unit


def value(node: c_ast.Node, enums: dict[str, int]) -> Any:
    """An initialiser's value: integer, text, name, None for NULL, or Numbers; else its C text."""
    if isinstance(node, c_ast.Constant):
        return int(node.value.rstrip("uUlL"), 0) if "int" in node.type else node.value.strip('"')
    if isinstance(node, c_ast.ID):
        return enums.get(node.name, node.name)
    if isinstance(node, c_ast.Cast):
        return None
    if isinstance(node, c_ast.BinaryOp) and node.op in OPERATORS:
        left, right = value(node.left, enums), value(node.right, enums)
        if isinstance(left, int) and isinstance(right, int):
            return OPERATORS[node.op](left, right)
    if isinstance(node, c_ast.InitList):
        return _numbers(node, enums)
    return c_text(node)


def _numbers(node: c_ast.InitList, enums: dict[str, int]) -> Numbers:
    """An initialiser in braces, by field name or index."""
    found: Numbers = {}
    index = 0
    for item in node.exprs:
        named = isinstance(item, c_ast.NamedInitializer)
        # pycparser 3 wraps a field or index in a node
        key = value(getattr(item.name[0], "expr", item.name[0]), enums) if named else index
        found[key] = value(item.expr if named else item, enums)
        index = key + 1 if isinstance(key, int) else index
    return found


def c_text(node: c_ast.Node) -> str:
    return str(c_generator.CGenerator().visit(node))


class Facts(c_ast.NodeVisitor):  # type: ignore[misc]
    """Facts of a C node: jumps, branches, calls (`table[]` for a call through a table), names."""

    def __init__(self, node: c_ast.Node) -> None:
        self.jumps: list[str] = []
        self.ifs: list[c_ast.If] = []
        self.branches = 0
        self.calls: Counter[str] = Counter()
        self.names: set[str] = set()
        self.numbers: set[int] = set()
        self.visit(node)

    def _jump(self, node: c_ast.Node) -> None:
        self.jumps.append(type(node).__name__.lower())
        self.generic_visit(node)

    visit_For = visit_While = visit_DoWhile = visit_Goto = visit_Label = visit_Switch = _jump  # noqa: N815

    def visit_If(self, node: c_ast.If) -> None:  # noqa: N802
        self.ifs.append(node)
        self.branches += 1
        self.generic_visit(node)

    def visit_TernaryOp(self, node: c_ast.TernaryOp) -> None:  # noqa: N802
        self.branches += 1
        self.generic_visit(node)

    def visit_BinaryOp(self, node: c_ast.BinaryOp) -> None:  # noqa: N802
        self.branches += node.op in {"&&", "||"}
        self.generic_visit(node)

    def visit_FuncCall(self, node: c_ast.FuncCall) -> None:  # noqa: N802
        self.calls[_callee(node.name)] += 1
        for part in (node.args, None if isinstance(node.name, c_ast.ID) else node.name):
            if part is not None:
                self.visit(part)

    def visit_StructRef(self, node: c_ast.StructRef) -> None:  # noqa: N802
        self.visit(node.name)

    def visit_ID(self, node: c_ast.ID) -> None:  # noqa: N802
        self.names.add(node.name)

    def visit_Constant(self, node: c_ast.Constant) -> None:  # noqa: N802
        if isinstance(number := value(node, {}), int):
            self.numbers.add(number)


def _callee(name: c_ast.Node) -> str:
    if isinstance(name, c_ast.ID):
        return str(name.name)
    return f"{_callee(name.name)}[]" if isinstance(name, c_ast.ArrayRef) else "a pointer"
