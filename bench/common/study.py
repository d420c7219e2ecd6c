"""What the studies have in common: options, the file of figures beside a script, and the page made of it."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

import msgspec
import typer

from heapsmith.bench.common.pages import with_part
from heapsmith.model.errors import CheckFailed
from heapsmith.model.files import write_json, write_text
from heapsmith.tools.common.tables import Words, draw

LAB = Path(__file__).resolve().parents[2] / "docs" / "lab"
T = TypeVar("T")

Json = Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")]
Out = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Write the figures as JSON.")]
Measure = Annotated[Path | None, typer.Option("-o", "--out", metavar="FILE", help="Measure; write the figures.")]
Only = Annotated[list[str] | None, typer.Option(metavar="NAME", help="Default: all.")]
Put = Annotated[bool, typer.Option("--page", help="Write the page in the checkout.")]
Check = Annotated[bool, typer.Option("--check", help="Measure and write nothing; fail where the page differs.")]


class Part(NamedTuple):
    """The part of a page, between two lines with the script's name, that is made of the figures beside the script."""

    script: Path
    page: Path

    @property
    def data(self) -> Path:
        """The file of figures."""
        return self.script.with_suffix(".json")

    def read(self, kind: type[T]) -> T:
        """The figures."""
        return msgspec.json.decode(self.data.read_bytes(), type=kind)

    def with_text(self, paragraphs: Sequence[str]) -> str:
        """The page with these paragraphs in the part."""
        return with_part(self.page.read_text(), f"<!-- made by bench/studies/{self.script.name} -->", *paragraphs)

    def put(self, paragraphs: Sequence[str], check: bool = False) -> None:
        """Write the part into the page; with `check`, CheckFailed where the page has another."""
        made = self.with_text(paragraphs)
        if not check:
            write_text(self.page, made)
        elif made != self.page.read_text():
            name = self.script.stem
            raise CheckFailed(f"{self.page.name}: its table is not that of {name}; run bench.studies.{name}")


def settle(part: Part, paragraphs: Sequence[str], page: bool, faults: Sequence[str] = ()) -> int:
    """Write the part if the page is asked for; CheckFailed if the figures have faults."""
    if page:
        part.put(paragraphs)
    if faults:
        raise CheckFailed("; ".join(faults))
    return 0


def tell(figures: object, tables: Sequence[Words], json: bool, out: Path | None = None) -> int:
    """Write figures into a file if one is given; print them as JSON or as tables."""
    if out:
        write_json(out, figures)
    if json:
        typer.echo(msgspec.json.encode(figures).decode())
    else:
        for table in tables:
            draw(table)
    return 0
