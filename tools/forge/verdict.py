"""The forge's verdict: which malloc to use, by intervals that part."""

from typing import Literal, NamedTuple

import msgspec

from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.compare.measure import MeasureRow, MeasureTable, Ratios, ratios
from heapsmith.tools.compare.worth import Price, Worth, worth
from heapsmith.tools.report.measurements import against

NOTHING = 0.01
"""A difference of less than this is no reason to change a malloc."""

Judgement = Literal["better", "worse", "mixed", "same"]


class Verdict(msgspec.Struct, frozen=True):
    """The row of the measurement to use (None: the measurement does not say), and why.

    Use says that a row takes less of something and more of nothing. `between`: the rows to choose from by what the
    user lacks, where each takes less of one and more of another; none where too few rounds decide nothing.

    `to_base`: the forged library to the base design, round by round; None if the search kept the base design, whose
    row is the last then. The rows of the measurement hold the ratios to glibc.
    """

    use: str | None
    why: list[str]
    to_base: Ratios | None
    between: list[str] = []


class Decided(NamedTuple):
    """The row to use, if any, the words that say so, and the rows to choose from where there is none."""

    use: str | None
    words: str
    between: tuple[str, ...] = ()


class Rows(NamedTuple):
    """The three rows that a verdict compares; of a search that kept the base design, `tuned` is `base`.

    `reference`: the row of the malloc to beat; `base_to` and `tuned_to` are the ratios to it.
    """

    reference: MeasureRow
    base: MeasureRow
    tuned: MeasureRow
    base_to: Ratios
    tuned_to: Ratios


def judged(found: Ratios) -> Judgement:
    """CPU time, peak and average RSS together; differences below NOTHING do not count."""
    better, worse = _less(found), _more(found)
    if better and worse:
        return "mixed"
    return "better" if better else "worse" if worse else "same"


def _judging(found: Ratios) -> list[tuple[str, Ratio]]:
    """The quantities that decide: time is left out, since other programs stretch it."""
    return [(name, one) for name, one in found.items() if one is not found.wall]


def _less(found: Ratios) -> list[str]:
    return [name for name, one in _judging(found) if one.is_less() and one.median <= 1 - NOTHING]


def _more(found: Ratios) -> list[str]:
    return [name for name, one in _judging(found) if one.is_more() and one.median >= 1 + NOTHING]


def verdict(table: MeasureTable, *, kept: str | None = None) -> Verdict:
    """The verdict on a measurement whose last two rows are the base and the forged library.

    kept: the name of the forged library where the search kept the base design. Then it is the base's library, which
    has the last row.
    """
    reference, tuned = _reference(table), table.rows[-1]
    base = table.rows[-2] if kept is None else tuned
    base_to, tuned_to = (ratios(row.runs, reference.runs) for row in (base, tuned))
    rows = Rows(reference, base, tuned, base_to, tuned_to)
    to_base = ratios(tuned.runs, base.runs) if kept is None else None
    use, first, between = _decided(rows, to_base, table.output_of)
    same = f"The search kept the base design: {kept} is the same as {base.library}."
    why = [first, against(tuned.library, base.library, to_base) if to_base else same]
    why.append(against(rows.tuned.library, rows.reference.library, rows.tuned_to))
    if rows.tuned.same_output is None:
        why.append(f"The output is not comparable: it varies from run to run under {table.output_of} itself.")
    wide = [name for name, one in _judging(to_base or tuned_to) if one.bounds() and not one.is_narrow()]
    if wide:
        why.append(f"The interval of {_and(wide)} is still wide: measure longer (--time), or in quieter hours.")
    return Verdict(use, why, to_base, [*between])


def worth_of(table: MeasureTable, use: str | None, price: Price) -> list[Worth]:
    """The worth of the malloc to use against the one to beat; of the forged one where nothing is decided."""
    row = next((row for row in table.rows if row.library == use), table.rows[-1])
    reference = _reference(table)
    return [] if row is reference else worth(row, reference, price)


def _reference(table: MeasureTable) -> MeasureRow:
    """The program's own malloc if it has one, else glibc; glibc too where it is better than the own."""
    glibc, own = table.rows[0], next(row for row in table.rows if row.library == table.output_of)
    better = glibc.same_output is not False and judged(ratios(glibc.runs, own.runs)) == "better"
    return glibc if better else own


def _decided(rows: Rows, to_base: Ratios | None, output_of: str) -> Decided:
    """What to use: what takes less of something and more of nothing than base design and malloc to beat."""
    reference, base, tuned = rows.reference.library, rows.base.library, rows.tuned.library
    second = _second(rows)
    if rows.tuned.same_output is False:
        second = Decided(reference, "") if rows.base.same_output is False else second
        return second._replace(words=f"Do not use {tuned}: the program does NOT behave as under {output_of}.")
    if (rounds := len(rows.tuned.runs)) < LEAST_ROUNDS:
        counted = "one round gives no interval" if rounds == 1 else f"{rounds} rounds are too few"
        return Decided(
            None, f"Nothing is decided: {counted}. Measure longer (--time), or in {LEAST_ROUNDS} rounds or more."
        )
    if to_base is None:
        return second._replace(words=f"{second.words[:1].upper()}{second.words[1:]}" if second.use else second.words)
    to_default, to_reference = judged(to_base), judged(rows.tuned_to)
    if to_default not in ("better", "mixed") or to_reference not in ("better", "mixed"):
        return second._replace(words=f"{tuned} is not worth it: {second.words}")
    if to_default == to_reference == "better":
        return Decided(tuned, f"Use {tuned}: it takes less {_and(_less(to_base))} than {base}.")
    if to_default == "mixed":
        return Decided(None, f"{tuned} takes {_traded(to_base, base)}", (base, tuned))
    less = f"less {_and(_less(to_base))} than {base}"
    return Decided(None, f"{tuned} takes {less}, and {_traded(rows.tuned_to, reference)}", (reference, tuned))


def _traded(found: Ratios, than: str) -> str:
    """The words for a row that takes less of one and more of another than a row."""
    return f"less {_and(_less(found))} and more {_and(_more(found))} than {than}: choose by what you lack."


def _and(words: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _second(rows: Rows) -> Decided:
    """The base if it is better than the reference, either by what the user lacks if it is mixed, else the reference."""
    base, reference = rows.base.library, rows.reference.library
    to_reference = "worse" if rows.base.same_output is False else judged(rows.base_to)
    if to_reference == "mixed":
        return Decided(None, f"{base} takes {_traded(rows.base_to, reference)}", (reference, base))
    use = base if to_reference == "better" else reference
    return Decided(use, f"use {use}.")
