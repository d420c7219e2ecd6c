"""Pruning: kernels without code that does nothing, to compile and pass less.

A record of arrays, `state`, becomes a parameter for each array. The pruner drops the branches that
the constants exclude, calls without effect whose value is unused, arguments that the callee does
not use, and int() around an int64. Literal arguments become plain integers, because numba compiles
a callee again for each literal. Arrays with only single items in use become pointers
(model/compile/pointers.py), because numba passes an array as seven words. An index of other arrays
becomes unsigned, because no kernel counts from an array's end. A pruned kernel does the same work.
"""

import ast
import inspect
import textwrap
import types
from collections.abc import Collection, Mapping
from typing import Any, cast

import msgspec
import numpy as np

BEGIN, ROW, INT64, UINT64 = "_begin", "_row", "_int64", "_uint64"
"""The names by which a pruned kernel calls pointers.begin, pointers.row, np.int64 and np.uint64."""

STATE, ARRAY = "state", "state_"
"""The name of a parameter that is a record of arrays, and the prefix of its expanded arrays."""

_HARMLESS = ("int", "bool", "len", "max", "min", "np", "range", BEGIN, ROW, INT64, UINT64)
"""Names that kernels call besides kernels."""


class Pruned(msgspec.Struct, frozen=True):
    """A pruned kernel."""

    code: types.CodeType
    acts: bool  # whether it changes an array
    passed: list[bool]  # whether callers pass each parameter
    pointers: list[bool]  # whether each passed parameter is a pointer


Callees = Mapping[str, Pruned]
"""The kernels that a kernel calls, by name."""


def pruned(
    function: types.FunctionType,
    constants: Mapping[str, Any],
    callees: Callees,
    absent: Collection[str] = (),
    *,
    is_entry: bool,
) -> Pruned:
    """Return a pruned kernel for these values of its globals; an entry keeps all its parameters.

    absent: scalars of the state that are 0.
    """
    tree = _expanded(function, absent)
    definition = cast(ast.FunctionDef, tree.body[0])
    types_of = {arg.arg: ast.unparse(arg.annotation) for arg in definition.args.args if arg.annotation}
    ints = {name for name, annotation in types_of.items() if annotation == "Ints"}
    records = {name for name, annotation in types_of.items() if annotation == "Records"}
    local = set(function.__code__.co_varnames)
    outer = {name: value for name, value in constants.items() if name not in local}
    known = {name: value for name, value in outer.items() if isinstance(value, int)}
    modules = {name: value for name, value in outer.items() if isinstance(value, types.ModuleType)}
    _bare(definition)
    _Pruner(known, modules, callees, ints).visit(definition)
    while _drop_unread(definition, callees):
        pass
    used = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name)}
    passed = [is_entry or arg.arg in used for arg in definition.args.args]
    definition.args.args = [arg for arg, kept in zip(definition.args.args, passed, strict=True) if kept]
    whole = _Whole(callees, ints | records)
    whole.visit(definition)
    pointers = (ints | records) - whole.found
    _Pointed(known, callees, pointers, records).visit(definition)
    if is_entry:
        names = sorted(pointers)
        definition.body[:0] = [ast.Assign([ast.Name(name, ast.Store())], _call(BEGIN, _load(name))) for name in names]
    code = _code_of(tree, function)
    acts = any(_acts(statement, callees) for statement in definition.body)
    are_pointers = [arg.arg in pointers and not is_entry for arg in definition.args.args]
    return Pruned(code, acts, passed, are_pointers)


def record_of(function: types.FunctionType) -> dict[str, str] | None:
    """Return 'Ints', 'Records' or 'Column' for each array of a kernel's `state`, or None."""
    record = function.__annotations__.get(STATE)
    items: Mapping[str, Any] | None = getattr(record, "ITEMS", None)
    if items is None:
        return None
    return {name: {np.int64: "Ints", np.void: "Records"}.get(item, "Column") for name, item in items.items()}


def flat(function: types.FunctionType) -> types.CodeType:
    """Return the code of a kernel with a parameter for each array of its record."""
    tree = _expanded(function)
    _bare(cast(ast.FunctionDef, tree.body[0]))
    return _code_of(tree, function)


def _expanded(function: types.FunctionType, absent: Collection[str] = ()) -> ast.Module:
    """Return the syntax of a kernel that takes and passes the arrays of its record one by one."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    definition = cast(ast.FunctionDef, tree.body[0])
    arrays = record_of(function)
    if arrays is not None:
        _Expander(arrays, absent, function.__globals__).visit(definition)
        definition.args.args[:1] = [ast.arg(ARRAY + name, ast.Name(kind)) for name, kind in arrays.items()]
    return tree


def _code_of(tree: ast.Module, function: types.FunctionType) -> types.CodeType:
    """Return the code of a tree's only function, at the lines of the function's source."""
    ast.increment_lineno(ast.fix_missing_locations(tree), function.__code__.co_firstlineno - 1)
    space: dict[str, types.FunctionType] = {}
    exec(compile(tree, function.__code__.co_filename, "exec"), space)
    return space[function.__name__].__code__


def _load(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _call(function: str, *args: ast.expr) -> ast.expr:
    return ast.Call(_load(function), list(args), [])


def _bare(definition: ast.FunctionDef) -> None:
    """Remove decorators and annotations from the definition."""
    definition.decorator_list = []
    definition.returns = None
    for arg in definition.args.args:
        arg.annotation = None


def _drop_unread(definition: ast.FunctionDef, callees: Callees) -> bool:
    """Drop assignments to variables that nothing reads; return whether there were any."""
    read = {node.id for node in ast.walk(definition) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    unread = _Unread(read, callees)
    unread.visit(definition)
    return unread.found


def _acts(tree: ast.AST, callees: Callees) -> bool:
    """Return whether the tree changes an array, itself or through a callee."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript | ast.Attribute) and isinstance(node.ctx, ast.Store):
            return True
        if isinstance(node, ast.Call):
            name = _called(node)
            if callees[name].acts if name in callees else name not in _HARMLESS:
                return True
    return False


def _called(node: ast.Call) -> str:
    """The name of the function that is called, or of the module or object that has it."""
    function = node.func
    while isinstance(function, ast.Attribute):
        function = function.value
    return function.id if isinstance(function, ast.Name) else ""


def _is_number(node: ast.expr, known: Mapping[str, int]) -> bool:
    """Return whether a node is a number, as a literal or by name."""
    return isinstance(node, ast.Constant) or (isinstance(node, ast.Name) and node.id in known)


def _item_of(node: ast.AST) -> str | None:
    """Return the name of the variable of which the node is a single item, or None."""
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        return None if isinstance(node.slice, ast.Tuple | ast.Slice) else node.value.id
    return None


class _Expander(ast.NodeTransformer):
    """Makes a variable of each array of a record, and fields of scalars of the other attributes.

    A kernel that takes a base of the record gets the base's arrays alone.
    """

    def __init__(self, arrays: Mapping[str, str], absent: Collection[str], outer: Mapping[str, Any]) -> None:
        self.arrays = arrays
        self.absent = absent
        self.outer = outer

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if not (isinstance(node.value, ast.Name) and node.value.id == STATE):
            self.generic_visit(node)
            return node
        if node.attr in self.arrays:
            return ast.Name(ARRAY + node.attr, node.ctx)
        if node.attr in self.absent:
            return ast.copy_location(ast.Constant(0), node)
        scalars = ast.Subscript(_load(ARRAY + "scalars"), ast.Constant(0), ast.Load())
        return ast.Subscript(scalars, ast.Constant(node.attr), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        if node.args and isinstance(node.args[0], ast.Name) and node.args[0].id == STATE:
            callee = self.outer.get(_called(node))
            taken = record_of(callee) if isinstance(callee, types.FunctionType) else None
            node.args[:1] = [_load(ARRAY + name) for name in taken or self.arrays]
        return node


class _Whole(ast.NodeVisitor):
    """Finds the arrays in other uses than single items or pointer arguments."""

    def __init__(self, callees: Callees, arrays: set[str]) -> None:
        self.callees = callees
        self.arrays = arrays
        self.found: set[str] = set()

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if _item_of(node) in self.arrays:
            self.visit(node.slice)
        else:
            self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        callee = self.callees.get(_called(node))
        pointers = callee.pointers if callee else [False] * len(node.args)
        for arg, is_pointer in zip(node.args, pointers, strict=True):
            if is_pointer and isinstance(arg, ast.Subscript):  # a row of a two-dimensional array
                self.visit(arg.value)
                self.visit(arg.slice)
            elif not (is_pointer and isinstance(arg, ast.Name)):
                self.visit(arg)

    def visit_Name(self, node: ast.Name) -> None:
        if node.id in self.arrays:
            self.found.add(node.id)


class _Pointed(ast.NodeTransformer):
    """Makes items of pointers of items of arrays, and pointers of arguments for pointers."""

    def __init__(self, known: Mapping[str, int], callees: Callees, pointers: set[str], records: set[str]) -> None:
        self.known = known
        self.callees = callees
        self.pointers = pointers
        self.records = records

    def visit_Subscript(self, node: ast.Subscript) -> Any:
        name = _item_of(node)
        self.generic_visit(node)
        if name in self.pointers:
            if name not in self.records:
                return node
            if isinstance(node.slice, ast.Constant) and node.slice.value == 0:
                return node.value
            return _call(ROW, node.value, node.slice)
        if name and not _is_number(node.slice, self.known):
            node.slice = _call(UINT64, node.slice)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        self.generic_visit(node)
        callee = self.callees.get(_called(node))
        if callee:
            for place, is_pointer in enumerate(callee.pointers):
                arg = node.args[place]
                if is_pointer and not (isinstance(arg, ast.Name) and arg.id in self.pointers):
                    node.args[place] = _call(BEGIN, arg)
        return node


class _Unread(ast.NodeTransformer):
    """Drops assignments to single variables that are not in `read`."""

    def __init__(self, read: set[str], callees: Callees) -> None:
        self.read = read
        self.callees = callees
        self.found = False

    def visit_Assign(self, node: ast.Assign | ast.AugAssign) -> ast.stmt:
        target = node.targets[0] if isinstance(node, ast.Assign) else node.target
        if isinstance(target, ast.Name) and target.id not in self.read and not _acts(node.value, self.callees):
            self.found = True
            return ast.copy_location(ast.Pass(), node)
        return node

    visit_AugAssign = visit_Assign  # noqa: N815 - the name is ast.NodeVisitor's


class _Pruner(ast.NodeTransformer):
    """Prunes a definition. known: globals with numbers; ints: parameters that are int64 arrays."""

    def __init__(
        self, known: Mapping[str, int], modules: Mapping[str, types.ModuleType], callees: Callees, ints: set[str]
    ) -> None:
        self.known = known
        self.modules = modules
        self.callees = callees
        self.ints = ints

    def visit_While(self, node: ast.While | ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        ends = [place for place, statement in enumerate(node.body) if isinstance(statement, ast.Return)]
        node.body = node.body[: ends[0] + 1 if ends else None] or [ast.Pass()]
        return node

    visit_FunctionDef = visit_While  # noqa: N815 - the name is ast.NodeVisitor's

    def visit_If(self, node: ast.If) -> Any:
        taken = self._decided(node.test)
        if taken is not None:
            kept = ast.Module(node.body if taken else node.orelse, [])
            self.generic_visit(kept)
            return kept.body
        self.generic_visit(node)
        if not node.body and not node.orelse and not _acts(node.test, self.callees):
            return None
        node.body = node.body or [ast.Pass()]
        return node

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        taken = self._decided(node.test)
        if taken is not None:
            return self.visit(node.body if taken else node.orelse)
        self.generic_visit(node)
        return node

    def visit_For(self, node: ast.For) -> Any:
        self.generic_visit(node)
        return node if node.body else None

    def visit_Expr(self, node: ast.Expr) -> Any:
        self.generic_visit(node)
        return node if _acts(node, self.callees) else None

    def visit_Call(self, node: ast.Call) -> Any:
        name = _called(node)
        if name in self.callees:
            node.args = [arg for arg, kept in zip(node.args, self.callees[name].passed, strict=True) if kept]
        self.generic_visit(node)
        if name in self.callees:
            node.args = [self._plain(arg) for arg in node.args]
        if name == "int" and self._is_int64(node.args[0]):
            return node.args[0]
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        self.generic_visit(node)
        module = self.modules.get(node.value.id) if isinstance(node.value, ast.Name) else None
        number = getattr(module, node.attr, None)
        return ast.Constant(number) if isinstance(number, int) else node

    def _plain(self, node: ast.expr) -> ast.expr:
        """Return an argument that is no literal."""
        number = node.operand if isinstance(node, ast.UnaryOp) else node
        return _call(INT64, node) if _is_number(number, self.known) else node

    def _is_int64(self, node: ast.expr) -> bool:
        """Return whether a node is a field of a record or an item of an int64 array."""
        if not isinstance(node, ast.Subscript):
            return False
        if isinstance(node.slice, ast.Constant):
            return isinstance(node.slice.value, str)
        return isinstance(node.value, ast.Name) and node.value.id in self.ints

    def _decided(self, test: ast.expr) -> bool | None:
        """Return whether a branch is taken, or None if this is unknown."""
        if isinstance(test, ast.BoolOp):
            parts = [self._decided(part) for part in test.values]
            ends = isinstance(test.op, ast.Or)
            return ends if ends in parts else None if None in parts else not ends
        names = {node.id for node in ast.walk(test) if isinstance(node, ast.Name)}
        if isinstance(test, ast.Compare) and names <= self.known.keys():
            return bool(eval(compile(ast.Expression(test), "", "eval"), {}, dict(self.known)))
        return None
