"""The options by which commands write profiles for other viewers (docs/other-tools.md)."""

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from heapsmith.api import show
from heapsmith.api.stated import Option
from heapsmith.commands.standard import for_output
from heapsmith.model.errors import BadInput
from heapsmith.model.files import STANDARD

if TYPE_CHECKING:  # the types need numba, which a command imports only when it runs
    from heapsmith.tools.profiles.table import StackTable

Form = Annotated[
    Literal["text", "json", "html", "pprof", "collapsed", "speedscope", "dhat", "firefox", "perfetto", "otlp"],
    Option("What is written: text, JSON, or a profile of whole stacks for a viewer.", flags="--format"),
]
PageForm = Annotated[
    Literal["html", "pprof", "collapsed", "speedscope", "dhat", "firefox", "perfetto", "otlp"],
    Option("What is written: the page, or a profile of the whole stacks of one trace for a viewer.", flags="--format"),
]
Out = Annotated[Path | None, Option("The profile to write.", "FILE", "-o --out", usual="standard output")]
Weight = Annotated[
    str | None,
    Option("The quantity that a profile shows first or alone, such as alloc_space.", "NAME", usual="inuse_space"),
]


class Chosen(NamedTuple):
    """What is written, where to, and which quantity first."""

    form: str
    out: Path
    weight: str | None

    @property
    def is_json(self) -> bool:
        """Whether it is JSON of the command's own."""
        return self.form == "json"

    @property
    def is_profile(self) -> bool:
        """Whether it is a profile for a viewer."""
        return self.form not in ("text", "json")


def chosen(form: str, out: Path | None, weight: str | None, json: bool) -> Chosen:
    """What the options say, before the work that a profile takes.

    Raises BadInput for options that do not go together and a file that cannot be written, Missing without the package
    that a format needs.
    """
    found = Chosen("json" if json else form, for_output(out) if out else Path(STANDARD), weight)
    if json and form not in ("text", "json"):
        raise BadInput(f"--json: with --format {form}; expected one of both")
    if not found.is_profile and (out or weight):
        raise BadInput(f"{'-o' if out else '--weight'}: is of profiles; expected --format with a profile's format")
    if found.is_profile:
        from heapsmith.tools.profiles.formats import FORMATS

        if out is None and sys.stdout.isatty() and not FORMATS[form].is_text:
            raise BadInput(f"--format {form}: standard output is a terminal; expected -o FILE or a pipe")
        if messages := FORMATS[form].messages:
            messages()
    return found


def emit(table: "StackTable", options: Chosen) -> int:
    """Write a profile, and return its bytes; say why names are missing on standard error."""
    from heapsmith.tools.profiles.formats import write_profile, write_profile_file

    if str(options.out) != STANDARD:
        write_profile_file(table, options.form, options.out, options.weight)
        size = options.out.stat().st_size
    else:
        file = BytesIO()
        write_profile(table, options.form, file, options.weight)
        show.emit_bytes(file.getvalue())
        size = file.tell()
    for reason in table.reasons:
        show.note(f"heapsmith: {reason}")
    return size
