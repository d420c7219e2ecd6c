"""Training: tunes a design for one row on another input, for the row's column `tuned`."""

import shutil
from pathlib import Path

import msgspec

from heapsmith.bench.suite.columns import DEFAULT, TUNED, Column
from heapsmith.bench.suite.rows import Row
from heapsmith.codegen.built import library_of
from heapsmith.model.design.design import Design, load
from heapsmith.model.errors import BadInput, CheckFailed
from heapsmith.model.memory.hardware import here
from heapsmith.model.search.asked import Asked
from heapsmith.model.search.confirm import Finalist
from heapsmith.model.search.tune import tune
from heapsmith.tools.common.rounds import Progress
from heapsmith.tools.peers.peers import Library


class Tuning(msgspec.Struct, frozen=True):
    """The design of a row's column `tuned`: tuned `on` the training input, which has `operations`.

    `kept_base`: the search found no better design than the default. `finalists`: the designs that
    it replayed beside the default. `why_not`: why there is no design; `design` is then None and the
    other fields are empty.
    """

    on: str = ""
    operations: int = 0
    design: Design | None = None
    hash: str = ""
    kept_base: bool = False
    why_not: str = ""
    finalists: list[Finalist] = []


def train(row: Row, folder: Path, asked: Asked, progress: Progress) -> Tuning:
    """Record the row's training input, never the measured input, and tune for it.

    `folder` is created and removed again. Raises what `record` raises if it cannot record
    (Missing).
    """
    if row.train is None:
        return Tuning(why_not="it has no other input to tune on")
    folder.mkdir()
    try:
        progress(f"{row.name}: record another input", 0, 1)
        training = row.train(folder)
        base = load(DEFAULT)
        name = f"{TUNED}-{row.name}"
        found = tune(training.traces, base=base, name=name, hardware=here(), asked=asked, progress=progress)
    except (BadInput, CheckFailed) as error:
        return Tuning(why_not=str(error).replace(f"{folder}/", ""))
    finally:
        shutil.rmtree(folder)
    design = base if found.kept_base else found.design
    return Tuning(
        on=training.on,
        operations=found.before.operations,
        design=design,
        hash=design.hash(),
        kept_base=found.kept_base,
        finalists=found.finalists,
    )


def with_library(column: Column, tuning: Tuning) -> Column:
    """The column TUNED with this tuning's library (codegen/built.py); unusable without a design."""
    if tuning.design is None:
        return column._replace(unusable=tuning.why_not)
    try:
        return column._replace(library=Library(TUNED, library_of(tuning.design), tuning.hash))
    except CheckFailed as error:
        return column._replace(unusable=str(error))
