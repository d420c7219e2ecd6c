"""Machine code as graphs: what each function of a library calls, its loops, and its worst count of instructions.

A loop is a strongly connected part of a function with one entry, its head. It is bounded if each
of its cycles through the head passes a mark of runtime/heap/1_base/bound.h that no loop inside it has.
"""

import re
import struct
from collections.abc import Iterable, Mapping, Set
from pathlib import Path
from typing import NamedTuple

from heapsmith.codegen.disassembly import Listing, disassemble
from heapsmith.codegen.instruction import Instruction, Unreadable
from heapsmith.codegen.toolchain import find_tool, run_tool
from heapsmith.codegen.x86_64 import BRANCHES
from heapsmith.model.files import scratch

ENDS = frozenset({"ret", "ud2", "hlt"})
SYSTEM = frozenset({"syscall", "sysenter", "int"})
HOOKS = frozenset({"hs_slow_listener"})

Edges = Mapping[int, Iterable[int]]


class Mark(NamedTuple):
    """A bound that the C states: the loop's name, the constant, and its value in rounds."""

    name: str
    text: str
    most: int


class Loop(NamedTuple):
    """A loop of a function: its head's address and its marks; no mark: it states no bound."""

    function: str
    head: int
    marks: frozenset[Mark]

    @property
    def most(self) -> int:
        """Return the rounds at most. Loops whose head the compiler shares multiply."""
        rounds = 1
        for mark in self.marks:
            rounds *= mark.most
        return rounds


class Image(NamedTuple):
    """A library: its code, marks by address, tables of functions by address and end, names by address.

    hooks: variables, by address, that lead to a function once somebody sets them: HOOKS.
    """

    listing: Listing
    marks: dict[int, Mark]
    tables: list[tuple[int, int, frozenset[int]]]
    names: dict[int, list[str]]
    hooks: dict[int, str]


class Function(NamedTuple):
    """The graph of a function: successors by address, callees by address of the call."""

    name: str
    entry: int
    edges: dict[int, list[int]]
    calls: dict[int, list[str]]


def read_image(library: Path) -> Image:
    """Read a library. Raises Missing without objdump or objcopy, CheckFailed if they fail."""
    listing = disassemble(library)
    shown = run_tool([find_tool("objdump"), "-t", "-R", "-w", str(library.absolute())], str(library))
    pointers = {
        int(place, 16): int(target, 16)
        for place, target in re.findall(r"^([0-9a-f]+) R_X86_64_RELATIVE +\*ABS\*\+0x([0-9a-f]+)", shown, re.MULTILINE)
    }
    objects = re.findall(r"^([0-9a-f]{16}) .{6}O (?:\.data\S*|\.rodata)\t([0-9a-f]+) ", shown, re.MULTILINE)
    code = set(listing.code)
    tables = []
    for start, size in ((int(start, 16), int(size, 16)) for start, size in objects):
        targets = frozenset(pointers[at] for at in range(start, start + size, 8) if pointers.get(at) in code)
        if targets:
            tables.append((start, start + size, targets))
    names: dict[int, list[str]] = {}
    for name, address in listing.symbols.items():
        names.setdefault(address, []).append(name)
    variables = re.findall(r"^([0-9a-f]{16}) .{6}O \.bss\t[0-9a-f]+ +(?:\.hidden )?(\w+)$", shown, re.MULTILINE)
    hooks = {int(at, 16): name for at, name in variables if name in HOOKS}
    return Image(listing, _read_marks(library), tables, names, hooks)


def _read_marks(library: Path) -> dict[int, Mark]:
    """Return the marks of a library by address; none where it has no section of them."""
    with scratch() as folder:
        section = folder / "marks"
        wanted = f".hs_bounds={section.absolute()}"
        objcopy = find_tool("objcopy")
        if ".hs_bounds" not in run_tool([find_tool("objdump"), "-h", str(library.absolute())], str(library)):
            return {}
        run_tool([objcopy, "--dump-section", wanted, str(library.absolute()), str(folder / "copy")], str(library))
        content = section.read_bytes()
    marks: dict[int, Mark] = {}
    at = 0
    while at < len(content):
        address, most = struct.unpack_from("<qq", content, at)
        name, text, _ = content[at + 16 :].split(b"\0", 2)
        marks[address] = Mark(name.decode(), text.decode(), most)
        at += 16 + len(name) + len(text) + 2
    return marks


def plain(name: str) -> str:
    """Return a function's name without the suffixes of the compiler and of the linker."""
    return re.split(r"[+.@]", name)[0]


def function_at(image: Image, entry: int) -> Function:
    """Follow a function from its entry. Raises Unreadable where the code cannot be followed."""
    name = image.names[entry][0]
    edges: dict[int, list[int]] = {}
    calls: dict[int, list[str]] = {}
    indirect: list[int] = []
    referenced: set[int] = set()
    todo = [entry]
    while todo:
        address = todo.pop()
        if address in edges:
            continue
        instruction = image.listing.code.get(address)
        if instruction is None:
            raise Unreadable(f"{name} cannot be followed to {address:#x}")
        following, callee = _step(image, entry, instruction)
        edges[address] = following
        todo += following
        referenced |= _references(instruction)
        if callee == "*":
            indirect.append(address)
        elif callee:
            calls[address] = [callee]
    for address in indirect:
        calls[address] = _targets(image, referenced)
        if not calls[address]:
            raise Unreadable(f"{name} goes where no table of functions leads: {image.listing.code[address]}")
    return Function(name, entry, edges, calls)


def _step(image: Image, entry: int, instruction: Instruction) -> tuple[list[int], str]:
    """Return where an instruction goes on in its function, and what it calls: a name, "*" or nothing."""
    mnemonic = instruction.mnemonic
    if mnemonic in ENDS:
        return [], ""
    if mnemonic in SYSTEM:
        return [instruction.following], mnemonic
    if mnemonic not in {"jmp", "call"} and mnemonic not in BRANCHES:
        if mnemonic.startswith(("j", "loop", "call")):
            raise Unreadable(f"unknown jump: {instruction}")
        return [instruction.following], ""
    direct = re.fullmatch(r"([0-9a-f]+) <([^>]+)>", instruction.operands[0])
    behind = [] if mnemonic == "jmp" else [instruction.following]
    if direct is None:
        return behind, "*"
    target, label = int(direct[1], 16), direct[2]
    if "@plt" in label:
        return behind, plain(label) + "@plt"
    starts = [name for name in image.names.get(target, []) if not name.endswith(".cold")]
    if mnemonic == "call" or (starts and target != entry):
        if target not in image.names:
            raise Unreadable(f"calls what is no function: {instruction}")
        return behind, f"{target:#x}"
    return [*behind, target], ""


def _references(instruction: Instruction) -> set[int]:
    """Return the addresses that an instruction names relative to itself."""
    found = (re.fullmatch(r"\*?(-?0x[0-9a-f]+)\(%rip.*\)", operand) for operand in instruction.operands)
    return {instruction.following + int(match[1], 16) for match in found if match}


def _targets(image: Image, referenced: Set[int]) -> list[str]:
    """Return the functions of all tables that a function names, and the hooks that it reads."""
    tables = [row for row in image.tables if any(row[0] <= address < row[1] for address in referenced)]
    hooks = {name for at, name in image.hooks.items() if at in referenced}
    return sorted({f"{target:#x}" for row in tables for target in row[2]} | hooks)


def components(nodes: Set[int], edges: Edges) -> list[list[int]]:
    """Return the strongly connected parts of a graph, each behind those that it leads to.

    R. Tarjan, "Depth-first search and linear graph algorithms", SIAM J. Comput. 1972, without recursion.
    """
    number: dict[int, int] = {}
    low: dict[int, int] = {}
    stack: list[int] = []
    on_stack: set[int] = set()
    found: list[list[int]] = []
    for root in nodes:
        if root in number:
            continue
        number[root] = low[root] = len(number)
        stack.append(root)
        on_stack.add(root)
        work = [(root, iter([node for node in edges[root] if node in nodes]))]
        while work:
            node, following = work[-1]
            after = next(following, None)
            if after is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[node])
                if low[node] == number[node]:
                    place = stack.index(node)
                    found.append(stack[place:])
                    on_stack.difference_update(stack[place:])
                    del stack[place:]
            elif after not in number:
                number[after] = low[after] = len(number)
                stack.append(after)
                on_stack.add(after)
                work.append((after, iter([other for other in edges[after] if other in nodes])))
            elif after in on_stack:
                low[node] = min(low[node], number[after])
    return found


def longest(function: Function, marks: Mapping[int, Mark], weight: Mapping[int, int]) -> tuple[int, list[Loop]]:
    """Return the largest sum of weights from the entry on, and the function's loops.

    weight: of each instruction. A loop without a bound counts as one round. Raises Unreadable for a
    loop with two entries.
    """
    loops: list[Loop] = []
    total = _longest(function, set(function.edges), function.entry, marks, weight, loops)
    return total, loops


def _longest(
    function: Function,
    nodes: set[int],
    entry: int,
    marks: Mapping[int, Mark],
    weight: Mapping[int, int],
    loops: list[Loop],
) -> int:
    """Return the largest sum on a path from `entry` inside `nodes`; adds the loops there to `loops`."""
    edges = {node: [after for after in function.edges[node] if after in nodes] for node in nodes}
    best: dict[int, int] = {}
    for part in components(nodes, edges):
        inside = set(part)
        is_loop = len(part) > 1 or part[0] in edges[part[0]]
        own = _loop(function, inside, edges, entry, marks, weight, loops) if is_loop else weight[part[0]]
        after = max((best[other] for node in part for other in edges[node] if other not in inside), default=0)
        best |= dict.fromkeys(part, own + after)
    return best[entry]


def _loop(
    function: Function,
    nodes: set[int],
    edges: Edges,
    entry: int,
    marks: Mapping[int, Mark],
    weight: Mapping[int, int],
    loops: list[Loop],
) -> int:
    """Return the largest sum of a loop's rounds; adds it and the loops inside it to `loops`."""
    entered = {after for node, following in edges.items() if node not in nodes for after in following}
    heads = nodes & (entered | ({entry} if entry in nodes else set()))
    if len(heads) != 1:
        raise Unreadable(f"{function.name} has a loop with {len(heads)} entries")
    (head,) = heads
    nested: list[Loop] = []
    forward = {node: [after for after in edges[node] if after in nodes and after != head] for node in nodes}
    parts = components(nodes, forward)
    inner = {node for part in parts for node in part if len(part) > 1 or node in forward[node]}
    own = {node for node in nodes - inner if node in marks}
    unmarked = nodes - own
    back = {node: [after for after in edges[node] if after in unmarked] for node in unmarked}
    passes = head not in unmarked or not any(
        head in part and (len(part) > 1 or head in back[head]) for part in components(unmarked, back)
    )
    loop = Loop(function.name, head, frozenset(marks[node] for node in own) if passes else frozenset())
    inside = Function(function.name, head, forward, {})
    round_ = _longest(inside, nodes, head, marks, weight, nested)
    loops += [loop, *nested]
    return (loop.most + 1) * round_
