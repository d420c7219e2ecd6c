"""Designs in Python: load, make, change and save them; their C, their libraries and the proof."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, TypeAlias

import msgspec

from heapsmith.api.results import Progress, Result
from heapsmith.api.stated import Argument, Option
from heapsmith.api.traces import OUT, Trace, TraceLike
from heapsmith.api.typed import typed

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from heapsmith.codegen.generate import Generated as GeneratedFiles
    from heapsmith.codegen.verify import VerifyReport
    from heapsmith.model.design import design as model
    from heapsmith.model.design.toml import Reason


class Design:
    """An allocator: block sizes, and a choice for each policy. It never changes.

    Two designs are equal if their names, remarks and choices are. Raises BadInput for an illegal
    design, with the path of the field.

    >>> design = Design("tiny", [16, 32, 64], slab_bytes=16384)
    >>> design.changed("wide", sizes=[16, 64, 256]).sizes
    array([ 16,  64, 256])
    >>> design.changed("odd", slab_bytes=5000)
    Traceback (most recent call last):
    heapsmith.model.errors.BadInput: odd: slab_bytes: 5000 is not usable; expected a power of two, 4096 to 2097152
    """

    __slots__ = ("_model", "_reasons")
    _model: model.Design
    _reasons: Sequence[Reason]

    @typed
    def __init__(self, name: str, sizes: npt.ArrayLike, **fields: Any) -> None:
        """Make a design of block sizes in bytes; `fields`: the other choices, as a design file has them."""
        from heapsmith.model.design.design import made

        self._model = made(_plain({**fields, "name": name, "sizes": sizes}), name)
        self._reasons = ()

    @classmethod
    @typed
    def load(cls, spec: str | os.PathLike[str]) -> Self:
        """Return the built-in design of a name, or the design of a file. Raises BadInput if there is none."""
        from heapsmith.model.design.design import load

        return cls._of(load(os.fspath(spec)))

    @classmethod
    def _of(cls, model: model.Design, reasons: Sequence[Reason] = ()) -> Self:
        design = cls.__new__(cls)
        design._model, design._reasons = model, reasons
        return design

    @staticmethod
    def builtin() -> list[str]:
        """Return the names of the built-in designs."""
        from heapsmith.model.design.design import builtin_names

        return builtin_names()

    @staticmethod
    def schema() -> dict[str, Any]:
        """Return the JSON Schema of a design file, which describes each field."""
        from heapsmith.model.design.design import schema

        return schema()

    @property
    def name(self) -> str:
        """The name: letters, digits, '-' and '_'."""
        return self._model.name

    @property
    def about(self) -> str:
        """A remark for people."""
        return self._model.about

    @property
    def sizes(self) -> npt.NDArray[np.int64]:
        """The block sizes of the size classes in bytes, ascending."""
        import numpy as np

        return np.array(self._model.sizes, np.int64)

    @property
    def hash(self) -> str:
        """12 hexadecimal digits of all choices: equal for designs that differ in name and remark alone."""
        return self._model.hash()

    @property
    def fields(self) -> dict[str, Any]:
        """All choices as plain values, as a design file has them; mechanisms that it does not use are absent."""
        from heapsmith.model.design.design import stated

        plain: dict[str, Any] = msgspec.to_builtins(stated(self._model))
        return plain

    @typed
    def changed(self, name: str, **fields: Any) -> Self:
        """Return this design under another name and with other choices ("off": none), without its remark."""
        from heapsmith.model.design.design import changed

        return self._of(changed(self._model, name, _plain(fields)))

    def plan(self) -> dict[str, Any]:
        """Return every number that follows from the design: what `heapsmith design show --json` prints."""
        from heapsmith.model.design.plan import make_plan

        plan: dict[str, Any] = msgspec.to_builtins(make_plan(self._model))
        return plan

    @typed
    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write a design file (TOML), with the reasons of `tune` as comments; return its path.

        Raises BadInput if it cannot be written.
        """
        from heapsmith.model.design.toml import write_design

        write_design(Path(path), self._model, self._reasons)
        return Path(path)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Design) and self._model == other._model

    def __hash__(self) -> int:
        return hash((self.name, self.hash))

    def __repr__(self) -> str:
        return f"<heapsmith Design {self.name}: {len(self._model.sizes)} size classes, {self.hash}>"


DesignLike: TypeAlias = Design | str | os.PathLike[str]
"""A design, the name of a built-in design, or the path of a design file."""

PageSize = Annotated[
    Literal["4K", "16K", "64K"] | None,
    Option(
        "The pages of a system on another processor than x86-64: 4K, 16K or 64K; slabs are of 64 KiB or more there.",
        "SIZE",
        usual="those of x86-64, or of the machine",
    ),
]

DESIGN = Argument("A built-in design or a design file.", "DESIGN")
FOLDER = Option("The folder to fill; it is made if absent.", "DIR", "-o --out")


def _plain(fields: dict[str, Any]) -> dict[str, Any]:
    """Return fields with lists in place of arrays."""
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}


def model_of(design: DesignLike) -> model.Design:
    """Return the model's design."""
    return (design if isinstance(design, Design) else Design.load(design))._model


def for_any_trace() -> list[str]:
    """Return the built-in designs but for those for measurement alone, which end a program that needs more blocks."""
    from heapsmith.model.design.design import builtin_names, load
    from heapsmith.model.policy.front import is_guarded

    return [name for name in builtin_names() if not is_guarded(load(name))]


def models_of(designs: DesignLike | Iterable[DesignLike]) -> list[model.Design]:
    """Return the model's designs of one design or several."""
    return [model_of(one) for one in ([designs] if isinstance(designs, Design | str | os.PathLike) else designs)]


def paths_of(traces: TraceLike | Iterable[TraceLike]) -> list[Path]:
    """Return the paths of one trace or several."""
    return [Path(one) for one in ([traces] if isinstance(traces, Trace | str | os.PathLike) else traces)]


class Generated(Result):
    """The C of a design in a folder."""

    details: GeneratedFiles

    @property
    def folder(self) -> Path:
        """The folder."""
        return Path(self.details.folder)

    @property
    def files(self) -> list[str]:
        """The names of the files."""
        return self.details.files

    def show(self) -> None:
        """Print the folder and its files."""
        from heapsmith.api import show

        show.line(f"{self.details.folder}: {', '.join(self.details.files)}")


@typed
def generate(
    design: Annotated[DesignLike, DESIGN],
    folder: Annotated[str | os.PathLike[str], FOLDER],
    *,
    single: Annotated[bool, Option("Write one C file and its header.")] = False,
    crate: Annotated[bool, Option("Write a Rust crate: the one C file behind a #[global_allocator].")] = False,
    check: Annotated[bool, Option("Compare with the folder's files; write nothing.")] = False,
    counts: Annotated[
        TraceLike | None,
        Option("Comments tell what this trace does in each function: counts, shares, predicted instructions.", "TRACE"),
    ] = None,
    progress: Progress | None = None,
) -> Generated:
    """Write the C of a design to a folder, which compiles without heapsmith; heapsmith.h is for programs.

    Raises BadInput for an illegal design, a damaged trace, a folder that cannot be written, and `single` with `crate`,
    CheckFailed for the first file that differs.

    >>> generate("lean", "lean-c", single=True).files
    ['heap.c', 'heapsmith.h']
    """
    from heapsmith.codegen.annotated import run_of
    from heapsmith.codegen.crate import crate_of
    from heapsmith.codegen.ship import folder_of, ship, single_of
    from heapsmith.model.errors import BadInput
    from heapsmith.model.files import writable_folder

    if single and crate:
        raise BadInput("--single and --crate: expected one of them; a crate has the one C file in it")
    out, found = Path(folder) if check else writable_folder(Path(folder)), model_of(design)
    run = run_of(found, Path(counts), progress) if counts is not None else None
    form = crate_of if crate else single_of if single else folder_of
    return Generated(ship(found, out, form, check=check, run=run))


@typed
def build(
    design: Annotated[DesignLike, DESIGN],
    out: Annotated[str | os.PathLike[str], OUT],
    *,
    checked: Annotated[bool, Option("Assert the machine's equations at run time.")] = False,
    static: Annotated[bool, Option("Make an archive (.a) for static linking.")] = False,
    header: Annotated[
        str | os.PathLike[str] | None,
        Option("Also write heapsmith.h[ to FILE]: inlined malloc and free for programs.", "FILE"),
    ] = None,
    target: Annotated[
        str | None,
        Option("Another system: aarch64-linux-gnu, x86_64-linux-musl and others.", "TRIPLE", usual="this one"),
    ] = None,
    cc: Annotated[
        str | None, Option("The compiler, with options of its own.", "CMD", usual="gcc, or one for TRIPLE")
    ] = None,
) -> Path:
    """Compile the library of a design with GCC to the file `out`; return its path.

    Raises BadInput for an illegal design, an unknown target and a file that cannot be written, Missing without a
    compiler, CheckFailed with the compiler's first error.

    >>> build("lean", "liblean.so").name
    'liblean.so'
    """
    from heapsmith.codegen import generate as emitted
    from heapsmith.codegen.build import build as compile_library
    from heapsmith.codegen.target import toolchain
    from heapsmith.model.files import writable_file, write_whole

    found, tools, library = model_of(design), toolchain(cc, target), writable_file(Path(out))
    if header is not None:
        write_whole(writable_file(Path(header)), emitted.contents(found)[emitted.HEADER])
    return compile_library(found, library, checked=checked, static=static, tools=tools)


class Verified(Result):
    """What the audit of the C and the comparison of library and model found: a row for each trace and build."""

    details: VerifyReport

    @property
    def ok(self) -> bool:
        """Whether every claim of the audit holds, and every counter and every address agree."""
        return self.details.ok

    def _rows(self) -> Iterable[Any]:
        """Return the runs."""
        return self.details.runs

    def show(self) -> None:
        """Print the claims that do not hold, and the runs, as `heapsmith verify` does."""
        from heapsmith.api import printed

        printed.verified(self.details)


@typed
def verify(
    design: Annotated[DesignLike, DESIGN],
    traces: Annotated[TraceLike | Iterable[TraceLike], Argument("Traces (.hst).", "TRACE")] = (),
    *,
    nodes: Annotated[
        Sequence[str],
        Option(
            "The processors of a node of memory, such as 0-3,8, for designs with shards of nodes[; once for each].",
            "LIST",
            "--node",
            usual="one node",
        ),
    ] = (),
    target: Annotated[
        str | None, Option("The library of another system: aarch64-linux-gnu and others.", "TRIPLE")
    ] = None,
    under: Annotated[str, Option("The command that runs programs of TRIPLE here, with its options.", "CMD")] = "",
    page_size: PageSize = None,
    progress: Progress | None = None,
) -> Verified:
    """Audit the C of a design, and compare its library with the model on traces, event by event.

    A difference is no error: see `ok` of the result. Raises BadInput for an illegal design and a damaged trace, Missing
    without gcc or objdump, CheckFailed if the C does not compile.

    >>> verify("lean").ok
    True
    """
    from heapsmith.codegen.verify import system_of
    from heapsmith.codegen.verify import verify as compare

    other = system_of(target, under, page_size)
    return Verified(compare(model_of(design), paths_of(traces), nodes=nodes, elsewhere=other, progress=progress))
