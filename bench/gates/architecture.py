"""Draws docs/architecture.svg: the packages by their imports, the C by its includes, the layers by their folders."""

import ast
import re
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Set
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from heapsmith.codegen.layers import INCLUDED, layers
from heapsmith.model.errors import CheckFailed, HeapsmithError
from heapsmith.model.files import write_text

ROOT = Path(__file__).resolve().parents[2]
PICTURE = Path("docs/architecture.svg")
PRODUCT, TEMPLATES, RUNTIME, HEAP = "src/heapsmith", "templates", "runtime", "runtime/heap"

WIDTH, BOX, GAP, AWAY, LETTER = 218, 24, 6, 46, 7.4
"""Of the drawing: a column's width, a box's height, the space between boxes and between columns, a letter's width."""

HEAD = """<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" font-family="sans-serif"
font-size="12">
<title>Packages, templates and layers: an arrow points at what is used</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="9" markerHeight="9" orient="auto">
<path d="M0 0 8 4 0 8z" fill="#456"/></marker></defs>
<rect width="100%" height="100%" fill="#fff"/>
"""

LEGEND = ("An arrow points at what is used; what follows from other arrows is left out.",
          "In a column, a row uses only rows below it; names of a circle are orange.")  # fmt: skip

Graph = Mapping[str, Set[str]]
"""Names, and those that each uses."""


class Column(NamedTuple):
    """A folder: its name, what it says of itself, and what is in it, with who uses whom."""

    name: str
    says: str
    graph: Graph

    def lines(self) -> list[list[str]]:
        """The rows, as many boxes in each line as have room."""
        found: list[list[str]] = []
        for row in floors(self.graph):
            line: list[str] = []
            for name in row:
                if line and sum(LETTER * len(one) + 2 * GAP for one in (*line, name)) > WIDTH:
                    found.append(line)
                    line = []
                line = [*line, name]
            found.append(line)
        return found

    def text(self) -> list[str]:
        return textwrap.wrap(self.says, int(WIDTH / LETTER * 1.15))

    def height(self) -> int:
        return BOX + 20 * len(self.text()) + GAP + (BOX + GAP) * len(self.lines())


def statements(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The statements of a body and of the bodies in it; no expression is looked into, which saves most of the time."""
    for node in body:
        yield node
        for inner in ("body", "orelse", "handlers", "finalbody", "cases"):
            yield from statements(getattr(node, inner, ()))


def parsed(path: Path) -> ast.Module:
    """A module's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"))


def imported(path: Path) -> set[str]:
    """The modules of heapsmith that a module imports, without the prefix heapsmith."""
    return imports_of(parsed(path))


def imports_of(module: ast.Module) -> set[str]:
    """The same of a module's syntax tree."""
    names: set[str] = set()
    for node in statements(module.body):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            names |= {f"{node.module}.{alias.name}" for alias in node.names if not alias.name.startswith("__")}
    return {name.removeprefix("heapsmith.") for name in names if name.startswith("heapsmith.")}


def python_files(folder: Path) -> list[Path]:
    """The modules of a folder; what is behind a link belongs to another one."""
    return [path for path in sorted(folder.rglob("*.py")) if not any(above.is_symlink() for above in path.parents)]


def modules_of(folder: Path, prefix: str) -> dict[str, set[str]]:
    """The packages and modules that stand in a folder, and those of them that each imports."""
    found: dict[str, set[str]] = {}
    for path in python_files(folder):
        own = path.relative_to(folder).parts[0].removesuffix(".py")
        names = {name.removeprefix(prefix).partition(".")[0] for name in imported(path) if name.startswith(prefix)}
        if not own.startswith("__"):
            found.setdefault(own, set()).update(names - {own})
    return {own: {name for name in used if name in found} for own, used in found.items()}


def reached(graph: Graph) -> dict[str, set[str]]:
    """What each name uses, directly or not."""
    found = {name: set(used) for name, used in graph.items()}
    for between in graph:
        for name, used in found.items():
            if between in used:
                found[name] = used | found[between]
    return found


def floors(graph: Graph) -> list[list[str]]:
    """Rows of names, the lowest last: each as low as what it uses lets it; those of a circle are in one row."""
    far = reached(graph)
    rows: list[list[str]] = []
    left = set(graph)
    while left:
        rows.insert(0, sorted(name for name in left if all(name in far[other] for other in far[name] & left)))
        left -= {*rows[0]}
    return rows


def arrows(graph: Graph) -> list[tuple[str, str]]:
    """Who uses whom, without what follows from other arrows."""
    far = reached(graph)
    return [
        (name, other)
        for name, used in sorted(graph.items())
        for other in sorted(used)
        if not any(other in far[between] for between in used)
    ]


def python_columns(root: Path) -> tuple[list[Column], dict[str, set[str]]]:
    """The folders of Python, leftmost used most, and who uses whom: imports it, or names the folder of C."""
    names = [path.parent.name for path in sorted(root.glob("*/__init__.py")) if python_files(path.parent)[1:]]
    columns: dict[str, Column] = {}
    uses: dict[str, set[str]] = {}
    for name in (*names, PRODUCT):
        files = python_files(root / name)
        says = (ast.get_docstring(ast.parse((root / name / "__init__.py").read_text())) or "").partition("\n")[0]
        says = re.split(r"[;.]", says.partition(": ")[2] or says)[0]
        columns[name] = Column(name, says, modules_of(root / name, "" if name == PRODUCT else f"{name}."))
        heads = {module.partition(".")[0] for file in files for module in imported(file)}
        uses[name] = {head if head in names else PRODUCT for head in heads} - {name}
        uses[name] |= {
            folder for folder in (TEMPLATES, RUNTIME) for file in files if f'/ "{folder}"' in file.read_text()
        }
    among = {name: used & columns.keys() for name, used in uses.items()}
    return [columns[name] for row in reversed(floors(among)) for name in row], uses


def c_columns(root: Path) -> tuple[list[Column], dict[str, set[str]]]:
    """The templates, the layers of the heap, the programs; and who includes whom."""
    runtime = root / RUNTIME
    programs: dict[str, set[str]] = {}
    for path in sorted(runtime.glob("*/*.[ch]")):
        found = [(path.parent / header).resolve() for header in INCLUDED.findall(path.read_text())]
        name = path.parent.name
        used = {header.relative_to(runtime.resolve()).parts[0] for header in found if header.is_file()}
        programs.setdefault(name, set()).update(used - {name})
    names = [layer.name for layer in layers(root / HEAP)]
    columns = [
        Column(RUNTIME, "programs", {name: used & programs.keys() for name, used in programs.items()}),
        Column(HEAP, "the C of all libraries, in layers", {layer: {*names[:at]} for at, layer in enumerate(names)}),
        Column(TEMPLATES, "the C that a design decides", {}),
    ]
    emitted = {header for path in (root / TEMPLATES).rglob("*.j2") for header in INCLUDED.findall(path.read_text())}
    uses = {
        TEMPLATES: {HEAP} if any((root / HEAP / header).is_file() for header in emitted) else set(),
        HEAP: set(),
        RUNTIME: {HEAP} if any("heap" in used for used in programs.values()) else set(),
    }
    return columns, uses


def drawn(root: Path) -> str:
    """The picture of a checkout, as SVG."""
    above, imports = python_columns(root)
    below, includes = c_columns(root)
    ground = GAP + max(column.height() for column in above)
    depth = ground + AWAY + max(column.height() for column in below)
    first = next(at for at, column in enumerate(above) if TEMPLATES in imports[column.name]) - 1
    place = {column.name: (GAP + at * (WIDTH + AWAY), ground) for at, column in enumerate(above)}
    place |= {column.name: (GAP + at * (WIDTH + AWAY), depth) for at, column in enumerate(below, first)}
    lines = [line for column in (*above, *below) for line in column_drawn(column, *place[column.name])]
    tall = {column.name: column.height() for column in (*above, *below)}
    lines += [arrow_drawn(place[name], place[other], tall[other]) for name, other in arrows(imports | includes)]
    width = max(x for x, _ in place.values()) + WIDTH + GAP
    lines += [f'<text x="{place[TEMPLATES][0] + WIDTH + AWAY}" y="{depth - GAP - 20 * at}">{words}</text>'
              for at, words in enumerate(reversed(LEGEND))]  # fmt: skip
    return HEAD.format(width=width, height=depth + GAP) + "\n".join(lines) + "\n</svg>\n"


def column_drawn(column: Column, x: float, bottom: float) -> list[str]:
    """A column that stands on its place: a frame, its name, what it says, and its boxes."""
    top, far = bottom - column.height(), reached(column.graph)
    lines = [
        f'<rect x="{x}" y="{top}" width="{WIDTH}" height="{bottom - top}" rx="6" fill="#f4f6f8" stroke="#9ab"/>',
        f'<text x="{x + GAP}" y="{top + 18}" font-weight="bold" font-size="14">{column.name}/</text>',
    ]
    for at, text in enumerate(column.text(), 1):
        lines.append(f'<text x="{x + GAP}" y="{top + 14 + 20 * at}" fill="#567">{escape(text)}</text>')
    for at, names in enumerate(reversed(column.lines()), 1):
        left, y = x + GAP, bottom - at * (BOX + GAP)
        room = WIDTH - GAP * (1 + 3 * len(names))  # beyond the letters' own, which take twice GAP more
        for name in names:
            fill = "#f6c58f" if name in far[name] else "#dbe7f3"
            wide = 2 * GAP + room * len(name) / sum(map(len, names))
            lines.append(f'<rect x="{left:.1f}" y="{y}" width="{wide:.1f}" height="{BOX}" rx="3" fill="{fill}"/>')
            lines.append(f'<text x="{left + wide / 2:.1f}" y="{y + 16}" text-anchor="middle">{name}</text>')
            left += wide + GAP
    return lines


def arrow_drawn(start: tuple[float, float], end: tuple[float, float], height: float) -> str:
    """From a column to what it uses: its neighbour, one below, or one farther away, then under those between."""
    (x, y), (to_x, to_y) = start, end
    if y != to_y:
        path = f"M{x + WIDTH / 2} {y} V{y + AWAY / 2} H{to_x + WIDTH / 2} V{to_y - height}"
    elif abs(x - to_x) <= WIDTH + AWAY:
        path = f"M{x} {y - BOX} H{to_x + WIDTH}" if to_x < x else f"M{x + WIDTH} {y - BOX} H{to_x}"
    else:
        path = f"M{x + WIDTH / 2} {y} C{x} {y + AWAY} {to_x + WIDTH} {y + AWAY} {to_x + WIDTH / 2} {y}"
    return f'<path d="{path}" fill="none" stroke="#456" stroke-width="1.5" marker-end="url(#tip)"/>'


def main() -> None:
    """Write the picture; with --check, compare it."""
    picture = drawn(ROOT)
    if "--check" not in sys.argv[1:]:
        write_text(ROOT / PICTURE, picture)
    elif not (ROOT / PICTURE).is_file() or (ROOT / PICTURE).read_text(encoding="utf-8") != picture:
        raise CheckFailed(f"{PICTURE}: differs from what the folders and imports give; run: make generated")


if __name__ == "__main__":
    try:
        main()
    except HeapsmithError as error:
        sys.exit(f"heapsmith: {error}")
