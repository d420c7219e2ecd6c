"""The forge's verdict: which malloc it names, by made-up rounds, and its sentences."""

import itertools
from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from heapsmith.tools.common.ratios import Ratio
from heapsmith.tools.compare.measure import Launched, MeasureTable, Ratios, Run, measured_row
from heapsmith.tools.forge.next_steps import next_steps
from heapsmith.tools.forge.share import Share
from heapsmith.tools.forge.verdict import Verdict, judged, verdict
from heapsmith.tools.peers.peers import Library
from heapsmith.tools.report.measurements import _is_apart, change, notes

pytestmark = pytest.mark.quick

ROUNDS = 7
Figures = tuple[float, float, float]
NAMES = ("glibc", "libdefault.so", "libjob.so")


def runs(cpu: float, peak: float, average: float, output: str = "") -> list[Run]:
    """Rounds that differ by a tenth of a per cent."""
    used = [
        Launched(0, 0, 0, round(cpu * step), round(cpu * step), 0, round(peak * step), round(average * step), 9, 9, 9)
        for step in (10_000, 10_001, 9_999, 10_002, 9_998, 10_000, 10_001)
    ]
    return [Run(one, output, "") for one in used]


def table(
    figures: Sequence[tuple[float, float, float]],
    same: bool | None = True,
    rounds: int = ROUNDS,
    names: Sequence[str] = NAMES,
    output_of: str | None = None,
) -> MeasureTable:
    """CPU, peak and average of the mallocs of these names; `same`: the last one's output."""
    taken = [runs(*each)[:rounds] for each in figures]
    outputs = [*[None if same is None else True] * (len(names) - 1), same]
    rows = [
        measured_row(Library(name, None), its, taken[0], output, "")
        for name, its, output in zip(names, taken, outputs, strict=True)
    ]
    return MeasureTable(["x"], rounds, "known", [], output_of or names[-3], rows)


def found(*figures: Figures, same: bool | None = True, rounds: int = ROUNDS) -> Verdict:
    return verdict(table(figures, same, rounds))


@pytest.mark.parametrize(
    ("default", "tuned", "use", "said"),
    [
        ((85, 105, 100), (80, 100, 90), "libjob.so", "takes less CPU, peak RSS and average RSS than libdefault.so."),
        ((85, 105, 100), (85, 100, 100), "libjob.so", "Use libjob.so: it takes less peak RSS than libdefault.so."),
        ((85, 95, 100), (85, 95, 100), "libdefault.so", "libjob.so is not worth it: use libdefault.so."),
        ((85, 95, 100), (85, 94.6, 100), "libdefault.so", "is not worth it"),  # half a per cent is nothing
        ((85, 95, 100), (88, 95, 100), "libdefault.so", "is not worth it"),
        (
            (85, 105, 100),
            (85, 105, 100),
            None,
            "not worth it: libdefault.so takes less CPU and more peak RSS than glibc",
        ),
        ((85, 110, 100), (85, 105, 100), None, "less peak RSS than libdefault.so, and less CPU and more peak RSS than"),
        ((85, 105, 100), (88, 100, 100), None, "takes less peak RSS and more CPU than libdefault.so: choose"),
        ((100, 105, 100), (100, 105, 100), "glibc", "libjob.so is not worth it: use glibc."),
        ((110, 110, 110), (105, 105, 105), "glibc", "use glibc."),  # better than default, and worse than glibc
    ],
)
def test_the_malloc_to_use(default: Figures, tuned: Figures, use: str | None, said: str) -> None:
    answer = found((100, 100, 100), default, tuned)
    assert answer.use == use
    assert said in answer.why[0]


@pytest.mark.parametrize(
    ("glibc", "own", "use", "said"),
    [
        ((100, 100, 100), (80, 95, 95), "own (jemalloc)", "libjob.so is not worth it: use own (jemalloc)."),
        ((100, 100, 100), (99, 110, 110), "libjob.so", "Use libjob.so: it takes less"),
        ((80, 95, 95), (100, 100, 100), "glibc", "libjob.so is not worth it: use glibc."),
    ],
)
def test_a_malloc_of_the_programs_own_is_judged_too(glibc: Figures, own: Figures, use: str, said: str) -> None:
    names = ("glibc", "own (jemalloc)", "libdefault.so", "libjob.so")
    answer = verdict(table([glibc, own, (95, 105, 105), (90, 100, 100)], names=names))
    assert answer.use == use
    assert said in answer.why[0]
    against = "glibc" if use == "glibc" else "own (jemalloc)"
    assert answer.why[2].startswith(f"libjob.so against {against}: CPU ")


def test_the_sentences() -> None:
    answer = found((100, 100, 100), (85, 105, 100), (85, 100, 97))
    assert answer.why[1] == (
        "libjob.so against libdefault.so: CPU no different (+0.0 to +0.0), time no different (+0.0 to +0.0), "
        "peak RSS -4.8% (-4.8 to -4.8), average RSS -3.0% (-3.0 to -3.0)."
    )
    assert answer.why[2].startswith("libjob.so against glibc: CPU -15.0% (-15.0 to -15.0), ")
    assert len(answer.why) == 3
    assert answer.to_base is not None
    assert answer.to_base.peak_rss.median == pytest.approx(100 / 105)


def test_a_library_that_changes_the_output_is_not_used() -> None:
    answer = found((100, 100, 100), (85, 95, 100), (50, 50, 50), same=False)
    assert answer.use == "libdefault.so"
    assert answer.why[0] == "Do not use libjob.so: the program does NOT behave as under glibc."


def test_an_output_that_varies_is_no_difference() -> None:
    answer = found((100, 100, 100), (85, 105, 100), (80, 95, 90), same=None)
    assert answer.use == "libjob.so"
    assert "The output is not comparable: it varies from run to run under glibc itself." in answer.why


@pytest.mark.parametrize(("rounds", "said"), [(1, "one round gives no interval"), (4, "4 rounds are too few")])
def test_few_rounds_decide_nothing(rounds: int, said: str) -> None:
    answer = found((100, 100, 100), (85, 105, 100), (50, 50, 50), rounds=rounds)
    assert answer.use is None
    assert answer.why[0].startswith(f"Nothing is decided: {said}. ")


@pytest.mark.parametrize(("default", "use"), [((85, 95, 100), "libdefault.so"), ((100, 105, 100), "glibc")])
def test_a_base_that_was_kept_is_compared_with_no_copy_of_itself(default: Figures, use: str) -> None:
    """Whatever the last two rows measured, they would be of one library, so it has one row."""
    measured = table([(100, 100, 100), default], names=NAMES[:2], output_of="glibc")
    answer = verdict(measured, kept="libjob.so")
    assert (answer.use, answer.to_base) == (use, None)
    assert answer.why[:2] == [
        f"Use {use}.",
        "The search kept the base design: libjob.so is the same as libdefault.so.",
    ]
    assert [line.split(":")[0] for line in answer.why[2:]] == ["libdefault.so against glibc"]
    commands = [line for step in next_steps(["./x"], "default", "out/libjob.so", measured, answer) for line in step[1]]
    assert not any("libjob.so" in line for line in commands)
    few = table([(100, 100, 100), default], rounds=2, names=NAMES[:2], output_of="glibc")
    (step,) = next_steps(["./x"], "default", "out/libjob.so", few, verdict(few, kept="libjob.so"))
    assert step.commands == ["heapsmith compare --rounds 20 --lib glibc --lib default -- ./x"]


def is_better(one: Sequence[float], than: Sequence[float]) -> bool:
    """Less of something, and more of nothing."""
    both = list(zip(one, than, strict=True))
    return any(a < 0.98 * b for a, b in both) and all(a <= b for a, b in both)


@pytest.mark.parametrize(
    ("default", "tuned", "between"),
    [
        ((100, 130, 130), (105, 95, 95), ("glibc", "libjob.so")),
        ((80, 100.5, 100), (78, 101.2, 95), ("libdefault.so", "libjob.so")),
        ((80, 120, 100), (104, 84, 100), NAMES),
    ],
)
def test_no_row_to_choose_from_is_beaten(default: Figures, tuned: Figures, between: Sequence[str]) -> None:
    assert found((100, 100, 100), default, tuned).between == list(between)


@pytest.mark.parametrize(
    ("default", "tuned", "use", "between"),
    [
        ((85, 105, 100), (88, 100, 100), "libjob.so", []),
        ((80, 95, 100), (85, 96, 100), "libjob.so", []),
        ((80, 105, 100), (85, 106, 100), None, ["glibc", "libjob.so"]),
        ((80, 95, 100), (100, 100, 100), "glibc", []),
    ],
)
def test_a_base_that_changes_the_output_is_no_choice(
    default: Figures, tuned: Figures, use: str | None, between: list[str]
) -> None:
    measured = table([(100, 100, 100), default, tuned])
    rows = [measured.rows[0], replace(measured.rows[1], same_output=False), measured.rows[2]]
    answer = verdict(replace(measured, rows=rows))
    assert (answer.use, answer.between) == (use, between)
    assert "Under libdefault.so the program does NOT behave as under glibc." in answer.why


@pytest.mark.parametrize("changes", [(0.8, 1.2, 1), (1.3, 0.7, 1), (1, 0.9, 1.1), (0.9, 1, 1), (1.1, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("of_base", [(0.8, 1.2, 1), (1.2, 0.9, 1), (0.9, 0.9, 1), (1.1, 1, 1), (1, 1, 1)])
@pytest.mark.parametrize("is_kept", [False, True])
def test_use_is_said_only_of_what_is_worse_in_nothing(changes: Figures, of_base: Figures, is_kept: bool) -> None:
    """The first line, the field `use` and the commands agree; a trade names the rows to choose from."""
    glibc = (100.0, 100.0, 100.0)
    base = tuple(100 * one for one in of_base)
    tuned = tuple(one * change for one, change in zip(base, changes, strict=True))
    rows = [glibc, base] if is_kept else [glibc, base, tuned]
    figures = dict(zip(NAMES, rows, strict=False))
    measured = table(rows, names=NAMES[: len(rows)], output_of="glibc")  # type: ignore[arg-type]
    answer = verdict(measured, kept="libjob.so" if is_kept else None)
    lines = [line for step in next_steps(["./x"], "default", "out/libjob.so", measured, answer) for line in step[1]]
    assert lines
    if answer.use is None:
        for one, other in itertools.permutations([figures[name] for name in answer.between], 2):
            assert any(a < 0.99 * b for a, b in zip(one, other, strict=True))
        for name, other in itertools.product(answer.between, figures.values()):
            assert not is_better(other, figures[name])
        assert answer.why[0].endswith(": choose by what you lack.")
        return
    assert answer.between == []
    assert f"se {answer.use}" in answer.why[0]
    assert all(a < 1.01 * b for a, b in zip(figures[answer.use], glibc, strict=True))


def test_wide_intervals_are_said_to_be_wide() -> None:
    wide, narrow, less = Ratio(1.0, 0.9, 1.1), Ratio(1.0, 0.995, 1.005), Ratio(0.9, 0.85, 0.95)
    assert judged(Ratios(wide, narrow, narrow, narrow)) == "same"
    assert judged(Ratios(narrow, less, narrow, narrow)) == "same"  # wall time alone decides nothing
    assert judged(Ratios(less, narrow, narrow, narrow)) == "better"
    steady = table([(100, 100, 100)] * 3)
    drifting = [replace(one, user_ns=one.user_ns * (1 + i)) for i, one in enumerate(steady.rows[2].runs)]
    taken = [[Run(one, "", "") for one in its] for its in (drifting, steady.rows[0].runs)]
    last = measured_row(Library(NAMES[2], None), *taken, True, "")
    answer = verdict(replace(steady, rows=[*steady.rows[:2], last]))
    assert answer.why[-1].startswith("The interval of CPU is still wide: measure longer (--time)")


def test_changes() -> None:
    assert change(Ratio(0.9, None, None)) == "-10.0% (no interval)"
    assert change(Ratio(0.96, 0.95, 0.97)) == "-4.0% (-5.0 to -3.0)"
    assert change(Ratio(1.01, 0.98, 1.03)) == "no different (-2.0 to +3.0)"


def test_the_share_of_malloc() -> None:
    share = Share("libdefault.so", samples=1000, inside=200, cpu_to_glibc=0.85)
    assert (share.part, share.most) == (0.2, pytest.approx(0.32))
    assert share.sentence().startswith("malloc takes about 20% of the program's CPU time under libdefault.so and 32% ")
    assert Share("x.so", samples=10, inside=0, cpu_to_glibc=1.1).most == 0
    assert "unknown" in Share("x.so", samples=0, inside=0, cpu_to_glibc=1.0).sentence()


@pytest.mark.parametrize(
    ("default", "tuned", "rounds", "said"),
    [
        (
            (85, 105, 100),
            (80, 100, 90),
            ROUNDS,
            ["heapsmith run out/libjob.so -- ./x y", 'LD_PRELOAD="$PWD"/out/libjob.so ./x y'],
        ),
        (
            (85, 95, 100),
            (85, 95, 100),
            ROUNDS,
            [
                "heapsmith run default -- ./x y",
                "heapsmith build default -o out/libdefault.so",
                'LD_PRELOAD="$PWD"/out/libdefault.so ./x y',
            ],
        ),
        (
            (85, 105, 100),
            (88, 100, 100),
            ROUNDS,
            [
                "heapsmith run default -- ./x y",
                "heapsmith run out/libjob.so -- ./x y",
                'LD_PRELOAD="$PWD"/out/libjob.so ./x y',
            ],
        ),
        (
            (85, 105, 100),
            (80, 100, 90),
            2,
            ["heapsmith compare --rounds 20 --lib glibc --lib default --lib out/libjob.so -- ./x y"],
        ),
    ],
)
def test_the_next_commands_follow_from_the_verdict(
    default: Figures, tuned: Figures, rounds: int, said: list[str]
) -> None:
    measured = table([(100, 100, 100), default, tuned], rounds=rounds)
    steps = next_steps(["./x", "y"], "default", "out/libjob.so", measured, verdict(measured))
    assert [command for step in steps for command in step.commands] == said


def test_the_next_commands_quote_the_librarys_path() -> None:
    """Where the loader takes no such path in LD_PRELOAD, heapsmith makes a link to it."""
    measured = table([(100, 100, 100), (85, 105, 100), (80, 100, 90)], rounds=ROUNDS)
    found = verdict(measured)
    (step,) = next_steps(["./x"], "default", "two words/libjob.so", measured, found)
    assert step.commands == ["heapsmith run 'two words/libjob.so' -- ./x"]
    (step,) = next_steps(["./x"], "default", "it's/libjob.so", measured, found)
    assert step.commands[1] == """LD_PRELOAD="$PWD"/'it'"'"'s/libjob.so' ./x"""


def test_the_next_commands_where_no_malloc_is_better() -> None:
    """They look at the program, and ask for another design; no library of the forge is named."""
    measured = table([(100, 100, 100), (100, 105, 100), (100, 105, 100)])
    (step,) = next_steps(["./x", "y"], "default", "out/libjob.so", measured, verdict(measured))
    assert step.why.startswith("Run the program as it is.")
    assert [command.split(" ")[1] for command in step.commands] == ["record", "sites", "forge"]
    assert not any(".so" in command for command in step.commands)


def test_the_next_command_where_glibc_is_better_than_the_malloc_of_the_programs_own() -> None:
    names = ("glibc", "own (jemalloc)", "libdefault.so", "libjob.so")
    measured = table([(80, 95, 95), (100, 100, 100), (100, 100, 100), (100, 100, 100)], names=names)
    (step,) = next_steps(["./x"], "default", "libjob.so", measured, verdict(measured))
    assert step.commands == ["LD_PRELOAD=libc.so.6 ./x"]


def test_ratios_that_the_medians_do_not_have_are_explained() -> None:
    """Load comes and goes: in each round but one the last takes .7 of the first's time, and the medians say .9."""
    first = [runs(ms, 100, 100)[0] for ms in (100, 100, 200, 200, 100)]
    last = [runs(ms, 100, 100)[0] for ms in (70, 70, 140, 140, 90)]

    def beside(*series: list[Run]) -> MeasureTable:
        rows = [measured_row(Library("x", None), its, series[0], True, "") for its in series]
        return MeasureTable(["x"], 5, "rounds", [], "a", rows)

    said = "ratios are medians of the rounds' own ratios, not ratios of medians"
    assert beside(first, last).rows[1].ratios.cpu.median == pytest.approx(0.7)
    assert notes(beside(first, last)) == [said]
    steady = [runs(100, 100, 100)[0]] * 5
    assert notes(beside(steady, [runs(70, 100, 100)[0]] * 5)) == notes(beside(steady)) == []
    assert [_is_apart(of, Ratio(0.7, 0.69, 0.71)) for of in (0.695, 0.714, 0.72)] == [False, False, True]
    assert [_is_apart(of, Ratio(0.7, 0.5, 0.9)) for of in (0.67, 0.74)] == [False, True]
