"""What a sized free would gain that believes its size: instructions of a pair of calls, by callgrind.

python -m heapsmith.bench.studies.sized_free [--out FILE] adds such a function to the emitted C of `default`, and counts
both; --page writes the table into docs/lab/search.md.
"""

from pathlib import Path

import msgspec

from heapsmith.bench.common.command import exit_with
from heapsmith.bench.common.commit import commit, today
from heapsmith.bench.common.pages import untitled
from heapsmith.bench.common.study import LAB, Measure, Part, Put, settle
from heapsmith.bench.programs.instructions import PAIRS, between
from heapsmith.codegen.build import build_emitted, own_flags
from heapsmith.codegen.generate import generate
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.design.design import load
from heapsmith.model.files import scratch, write_json
from heapsmith.tools.common.tables import Words

PART = Part(Path(__file__), LAB / "search.md")
SOURCE = Path(__file__).resolve().parents[1] / "programs" / "sized.c"
BYTES = (32, 500)
FORMS = ("free_sized", "trusting_free")
TRUSTING = """
__attribute__((visibility("default"))) void trusting_free(void *block, size_t bytes)
{
    if (block == NULL || bytes > DIRECT_LIMIT)
        free(block);
    else
        push(hs_self->row_of[bytes], block);
}
"""
"""The row comes from the size, so the block's slab and the span are not asked."""


class Row(msgspec.Struct, frozen=True):
    """Instructions of a pair of malloc and a sized free of `bytes`, with calls, PLT and the loop."""

    bytes: int
    free_sized: float
    trusting_free: float


class Report(msgspec.Struct, frozen=True):
    """All rows, and when and at which commit they were made."""

    date: str
    commit: str
    rows: list[Row]


def rows(pairs: int = PAIRS) -> list[Row]:
    """A row for each size. Raises what `build_emitted`, `build_tool` and `callgrind` raise."""
    design = load("default")
    with scratch() as folder:
        generate(design, folder)
        fast = folder / "fast.c"
        fast.write_text(fast.read_text() + TRUSTING)
        library = build_emitted(folder, folder / "libtrusting.so", own=own_flags(design))
        flags = [*TOOL_FLAGS, "-fno-builtin", "-Wl,--no-as-needed", str(library)]
        tools = {form: build_tool(f"sized-{form}", [SOURCE], [*flags, f"-DRELEASE={form}"]) for form in FORMS}
        return [
            Row(size, **{form: int(between(library, tools[form], str(size), pairs)[0]) / pairs for form in FORMS})
            for size in BYTES
        ]


def made(of: Report) -> list[str]:
    """The part of the page that is made of this report."""
    said = f"Counted on {of.date} at commit {of.commit}."
    cells = [[str(one.bytes), f"{one.free_sized:.1f}", f"{one.trusting_free:.1f}"] for one in of.rows]
    return [said, untitled(Words("", ["bytes", "free_sized as it is", "one that believes the size"], cells))]


def main(out: Measure = None, page: Put = False) -> int:
    """Count, or take the committed figures, and write the page."""
    report = Report(today(), commit(), rows()) if out else PART.read(Report)
    if out:
        write_json(out, report)
    return settle(PART, made(report), page)


if __name__ == "__main__":
    exit_with(main)
