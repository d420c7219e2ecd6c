"""Writes the page: verdict and tables as HTML, the views as a script with its data, all in one file."""

from collections.abc import Sequence
from pathlib import Path

import markupsafe
import msgspec

from heapsmith.model.errors import printable
from heapsmith.model.files import write_text
from heapsmith.model.search.tune import Tuned
from heapsmith.tools.common import resident_words
from heapsmith.tools.common.tables import Words
from heapsmith.tools.common.tables import shown as plain
from heapsmith.tools.compare.measure import MeasureTable
from heapsmith.tools.page.contents import Shown, contents, kinds_of
from heapsmith.tools.page.payload import Payload
from heapsmith.tools.page.purpose import purpose
from heapsmith.tools.page.sheet import sheet

SCRIPTS = ("core", "timeline", "resident", "map", "tables", "lives", "flame", "sites", "search", "main")
VIEWS = {
    "verdict": "Verdict",
    "timeline": "Bytes over the trace",
    "resident": "Resident by kind",
    "map": "Address map",
    "bytes": "What the bytes are for",
    "classes": "Size classes",
    "sites": "Call sites",
    "lives": "Sizes and lifetimes",
    "search": "Search",
    "proof": "Model against measurement",
}


class Page(msgspec.Struct, frozen=True):
    """What a page shows. why: the verdict in sentences, next: commands to type; verdict, proof: tables.

    tuned, measured: of a forge. ledgers: tables of what a malloc's bytes are for, measured.
    """

    title: str
    why: list[str]
    next: list[str]
    verdict: list[Words]
    proof: list[Words]
    shown: list[Shown]
    tuned: Tuned | None = None
    measured: MeasureTable | None = None
    ledgers: Sequence[Words] = ()


def write_page(path: Path, page: Page) -> None:
    """Write the page to `path`, whole or not at all. Raises BadInput if it cannot be written."""
    payload = Payload()
    resident = [(one.trace.name, kinds) for one in page.shown if (kinds := kinds_of(one.info))]
    absent = {"proof": not page.proof, "resident": not resident}
    text = sheet(
        "page.html.j2",
        SCRIPTS,
        payload.text(contents(page.shown, page.tuned, page.measured, payload)),
        page.title,
        words=_table,
        views=[(name, words) for name, words in VIEWS.items() if not absent.get(name)],
        resident=[resident_words.table(kinds, f"{name}: resident by kind") for name, kinds in resident],
        purpose=[printable(sentence) for one in page.shown for sentence in purpose(one)],
        why=[printable(sentence) for sentence in page.why],
        next=[printable(command) for command in page.next],
        verdict=page.verdict,
        proof=page.proof,
        ledgers=page.ledgers,
    )
    write_text(path, text)


def _table(table: Words) -> markupsafe.Markup:
    """Return a table as HTML."""
    words = plain(table)
    is_text = [index == 0 or name.startswith("<") for index, name in enumerate(words.columns)]

    def row(tag: str, cells: Sequence[str]) -> markupsafe.Markup:
        made = (
            markupsafe.Markup("<{0}{1}>{2}</{0}>").format(tag, markupsafe.Markup(' class="text"' if text else ""), cell)
            for cell, text in zip(cells, is_text, strict=True)
        )
        return markupsafe.Markup("<tr>{}</tr>").format(markupsafe.Markup("").join(made))

    head = row("th", [name.removeprefix("<") for name in words.columns])
    body = markupsafe.Markup("").join(row("td", [str(cell) for cell in cells]) for cells in words.rows)
    return markupsafe.Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{0}"><table><caption>{0}</caption>'
        "<thead>{1}</thead><tbody>{2}</tbody></table></div>"
    ).format(words.title, head, body)
