"""Mutants of the model: Python with one line of a function changed or one statement deleted."""

import ast
import io
import tokenize
from collections.abc import Iterator

from heapsmith.bench.gates.mutating import Mutant

INSTEAD = {
    "<": "<=",
    "<=": "<",
    ">": ">=",
    ">=": ">",
    "==": "!=",
    "!=": "==",
    "and": "or",
    "or": "and",
    "+": "-",
    "-": "+",
    "*": "+",
    "//": "*",
    "%": "//",
    "<<": ">>",
    ">>": "<<",
    "&": "|",
    "|": "&",
    "+=": "-=",
    "-=": "+=",
    "True": "False",
    "False": "True",
    "break": "continue",
}
"""What stands where a token stood."""

DELETED = (ast.Assign, ast.AugAssign, ast.Expr, ast.Raise)
"""Statements that a mutant leaves out."""


NOTHING = frozenset(("0", "None", "False"))


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Every mutant of the functions of a Python file, line by line; what they say (docstrings, messages) stays."""
    lines = text.split("\n")
    module = ast.parse(text)
    functions = [node for node in ast.walk(module) if isinstance(node, ast.FunctionDef)]
    named: dict[int, str] = {}
    for function in functions:
        for statement in _body(function):
            named |= dict.fromkeys(
                range(statement.lineno, (statement.end_lineno or statement.lineno) + 1), function.name
            )
    changes = [*_deletions(functions, lines), *_tokens(text, lines)]
    for number, after in sorted(dict.fromkeys(changes), key=lambda change: change[0]):
        if number in named:
            yield Mutant(file, number, named[number], lines[number - 1], after)


def _body(function: ast.FunctionDef) -> list[ast.stmt]:
    """The statements of a function without its docstring."""
    return function.body[1:] if ast.get_docstring(function, clean=False) is not None else function.body


def _deletions(functions: list[ast.FunctionDef], lines: list[str]) -> Iterator[tuple[int, str]]:
    """Statements of one line that are left out, values returned that are 0, and conditions turned round."""
    for function in functions:
        for node in (inner for statement in _body(function) for inner in ast.walk(statement)):
            if not isinstance(node, ast.stmt):
                continue
            line = lines[node.lineno - 1]
            if isinstance(node, ast.If | ast.While):
                test = node.test
                if test.end_lineno == node.lineno:
                    condition = slice(test.col_offset, test.end_col_offset)
                    yield node.lineno, f"{line[: condition.start]}not ({line[condition]}){line[condition.stop :]}"
            elif node.lineno == node.end_lineno:
                indent = line[: node.col_offset]
                if isinstance(node, DELETED):
                    yield node.lineno, f"{indent}pass"
                elif isinstance(node, ast.Return) and node.value and ast.unparse(node.value) not in NOTHING:
                    yield node.lineno, f"{indent}return 0"


def _tokens(text: str, lines: list[str]) -> Iterator[tuple[int, str]]:
    """Lines with one token changed; a number becomes the next."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        (number, begin), (_, end) = token.start, token.end
        line = lines[number - 1]
        other = INSTEAD.get(token.string)
        if token.type == tokenize.NUMBER and token.string.isdigit():
            other = str(int(token.string) + 1)
        if token.string in "+-*|" and line[end : end + 1] != " ":  # signs, stars of arguments
            other = None
        if token.string == "|" and (line.lstrip().startswith("def ") or "->" in line):
            other = None  # a type
        if other is not None:
            yield number, line[:begin] + other + line[end:]
