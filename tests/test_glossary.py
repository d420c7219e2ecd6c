"""docs/glossary.md: each word of commands, fields, columns, counters and messages is there, or a common word."""

import ast
import functools
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any

from heapsmith.commands.man import commands
from heapsmith.commands.options import parameter_records
from heapsmith.commands.schemas import schema_of
from heapsmith.model.parts import counters

ROOT = Path(__file__).resolve().parent.parent
GLOSSARY = ROOT / "docs" / "glossary.md"
COMMON = ROOT / "tests" / "common_words.txt"
PRODUCT = ("model", "codegen", "tools", "src/heapsmith/api", "src/heapsmith/commands")
ERRORS = {"BadInput", "Missing", "CheckFailed"}
TABLES = "heapsmith.tools.common.tables"
MARKUP = re.compile(r"<|\b[A-Z][a-z]+[A-Z]|=\"")
"""HTML, and names of classes in annotations."""
ENDINGS = (
    *(("ies", "y"), ("es", ""), ("es", "e"), ("s", ""), ("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e")),
    *(("d", ""), ("ly", ""), ("er", ""), ("er", "e"), ("ation", "ate"), ("ions", ""), ("ion", "e")),
)


def words(text: str) -> set[str]:
    """The words of three letters and more; of names such as `slab_bytes` their parts."""
    return set(re.findall(r"[a-z]{3,}", re.sub(r"([a-z])([A-Z])", r"\1 \2", text).lower()))


def forms(word: str) -> set[str]:
    """A word, and what it may be a form of: slabs, freed, mapping, stopped."""
    found = {word}
    for ending, instead in ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) > 2:
            found.add(word.removesuffix(ending) + instead)
    return found | {one[:-1] for one in found if len(one) > 3 and one[-1] == one[-2]}


def in_commands() -> set[str]:
    """Names, helps, arguments and options of all commands."""
    found = set[str]()
    program, inner = commands()
    for name, (command, ctx) in {("heapsmith",): program, **inner}.items():
        found |= words(" ".join(name)) | words(command.help or "")
        for _, records in parameter_records(command, ctx):
            for option, said in records:
                found |= words(option) | words(said)
    return found


def in_schema(part: Any) -> Iterator[str]:
    """Fields, values and descriptions of a JSON Schema."""
    if isinstance(part, dict):
        for name, inner in part.items():
            if name == "properties":
                yield from inner
            elif name in ("enum", "description"):
                yield str(inner)
            yield from in_schema(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from in_schema(inner)


def in_sources() -> set[str]:
    """Messages of errors, and what files that print tables have in quotes."""
    found = set[str]()
    for path in (path for folder in PRODUCT for path in (ROOT / folder).rglob("*.py")):
        tree = ast.parse(path.read_text())
        whole = any(isinstance(node, ast.ImportFrom) and node.module == TABLES for node in ast.walk(tree))
        notes = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
        for node in ast.walk(tree):
            name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
            if name in ERRORS:
                for part in ast.walk(node):
                    found |= (
                        words(part.value) if isinstance(part, ast.Constant) and isinstance(part.value, str) else set()
                    )
            elif whole and isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in notes:
                found |= set() if MARKUP.search(node.value) else words(node.value)
    return found


@functools.cache
def of_the_program() -> frozenset[str]:
    found = in_commands() | in_sources() | words((ROOT / "tests" / "python_interface.txt").read_text())
    for kind in ("design", "machine", "grid"):
        found |= words(" ".join(in_schema(schema_of(kind))))
    return frozenset(found | words(" ".join((*counters.TOTALS, *counters.COUNTS, *counters.LOCKS))))


def explained() -> set[str]:
    return words(" ".join(re.findall(r"^\| ([^|]+) \|", GLOSSARY.read_text(), re.MULTILINE)))


def unknown(found: Set[str], known: set[str]) -> list[str]:
    return sorted(word for word in found if not forms(word) & known)


def test_every_word_is_common_or_in_the_glossary() -> None:
    found = of_the_program()
    assert len(found) > 1000
    assert {"slab", "drained", "pprof", "quarantine"} <= found
    assert unknown(found, explained() | words(COMMON.read_text())) == []


def test_common_words_are_used_and_not_explained() -> None:
    common = words(COMMON.read_text())
    assert common & explained() == set()
    assert sorted(common - {form for word in of_the_program() for form in forms(word)}) == []


def test_a_word_of_nowhere_is_noticed() -> None:
    assert unknown({"slabs", "carved", "zork", "zorks"}, {"slab", "carve"}) == ["zork", "zorks"]


def test_the_glossary_is_in_order_and_brief() -> None:
    rows = re.findall(r"^\| ([^|]+) \| (.+) \|$", GLOSSARY.read_text(), re.MULTILINE)[1:]
    names = [name.lower() for name, _ in rows if not name.startswith("-")]
    assert names == sorted(names)
    assert all(len(said.split()) <= 45 for _, said in rows)
