"""The forge's verdict: which malloc to use, by intervals that part."""

from typing import Literal, NamedTuple

import msgspec

from heapsmith.tools.common.ratios import LEAST_ROUNDS, Ratio
from heapsmith.tools.compare.measure import MeasureRow, MeasureTable, Ratios, ratios
from heapsmith.tools.compare.worth import Price, Worth, worth
from heapsmith.tools.report.measurements import against

NOTHING = 0.01
"""A difference of less than this is no reason to change a malloc."""

BY_LACK = ": choose by what you lack."

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
    if rows.base.same_output is False and kept is None:
        why.append(f"Under {base.library} the program does NOT behave as under {table.output_of}.")
    if rows.tuned.same_output is None:
        why.append(f"The output is not comparable: it varies from run to run under {table.output_of} itself.")
    wide = [name for name, one in _judging(to_base or tuned_to) if one.bounds() and not one.is_narrow()]
    if wide:
        why.append(f"The interval of {_and(wide)} is still wide: measure longer (--time), or in quieter hours.")
    return Verdict(use, why, to_base, [*between])


def worth_of(table: MeasureTable, found: Verdict, price: Price) -> list[Worth]:
    """The worth of the malloc to use against the one to beat, or of the last one to choose from.

    Of the forged one where nothing is decided.
    """
    chosen = found.use or (found.between[-1] if found.between else table.rows[-1].library)
    row = next(row for row in table.rows if row.library == chosen)
    reference = _reference(table)
    return [] if row is reference else worth(row, reference, price)


def _reference(table: MeasureTable) -> MeasureRow:
    """The program's own malloc if it has one, else glibc; glibc too where it is better than the own."""
    glibc, own = table.rows[0], next(row for row in table.rows if row.library == table.output_of)
    better = glibc.same_output is not False and judged(ratios(glibc.runs, own.runs)) == "better"
    return glibc if better else own


def _decided(rows: Rows, to_base: Ratios | None, output_of: str) -> Decided:
    """What to use: what takes less of something and more of nothing than base design and malloc to beat."""
    reference, tuned = rows.reference.library, rows.tuned.library
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
    to_reference = judged(rows.tuned_to)
    if rows.base.same_output is False:
        if to_reference == "better":
            return Decided(tuned, f"Use {tuned}: it takes {_against(rows.tuned_to, reference)}.")
        if to_reference == "mixed":
            return Decided(None, f"{tuned} takes {_against(rows.tuned_to, reference)}{BY_LACK}", (reference, tuned))
        return Decided(reference, f"{tuned} is not worth it: use {reference}.")
    if {judged(to_base), to_reference} - {"better", "mixed"}:
        return second._replace(words=f"{tuned} is not worth it: {second.words}")
    return _traded(rows, to_base, judged(to_base), to_reference)


def _traded(rows: Rows, to_base: Ratios, to_default: Judgement, to_reference: Judgement) -> Decided:
    """The forged library where it is better than the others that count, else the rows that none of these beats."""
    reference, base, tuned = rows.reference.library, rows.base.library, rows.tuned.library
    of_base = judged(rows.base_to)
    mixed = [name for name, found in ((reference, to_reference), (base, to_default)) if found == "mixed"]
    others = {"better": [base], "worse": [reference], "same": mixed[:1], "mixed": mixed}[of_base]
    if to_default == to_reference == "better" or (of_base == "worse" and to_reference == "better"):
        found, than = (to_base, base) if to_default == "better" else (rows.tuned_to, reference)
        return Decided(tuned, f"Use {tuned}: it takes {_against(found, than)}.")
    said = [_against(to_base, base)] if base in others or to_default == "better" else []
    if reference in others or to_default == "better":
        said.append(_against(rows.tuned_to, reference))
    return Decided(None, f"{tuned} takes {', and '.join(said)}{BY_LACK}", (*others, tuned))


def _against(found: Ratios, than: str) -> str:
    """What a row takes less of, and more of, than a row."""
    less, more = _less(found), _more(found)
    return f"less {_and(less)}{f' and more {_and(more)}' if more else ''} than {than}"


def _and(words: list[str]) -> str:
    """Words as a list in a sentence."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def _second(rows: Rows) -> Decided:
    """The base if it is better than the reference, either by what the user lacks if it is mixed, else the reference."""
    base, reference = rows.base.library, rows.reference.library
    to_reference = "worse" if rows.base.same_output is False else judged(rows.base_to)
    if to_reference == "mixed":
        return Decided(None, f"{base} takes {_against(rows.base_to, reference)}{BY_LACK}", (reference, base))
    use = base if to_reference == "better" else reference
    return Decided(use, f"use {use}.")
