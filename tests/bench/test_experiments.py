"""The experiments: their file, the check that arms differ as stated, verdicts, and a run that goes on."""

from pathlib import Path
from shutil import which

import msgspec
import pytest
from conftest import Answer
from test_cli import Call
from traces import random_trace

from heapsmith.bench.experiments import kept, mechanisms, page, profile
from heapsmith.bench.experiments import run as runs
from heapsmith.bench.experiments import verified as verifying
from heapsmith.bench.experiments.book import Arm, Book, Experiment, Sign, book, designs_of
from heapsmith.bench.experiments.results import Change, Conditions, Measured, Result, Results, Verdict, is_known, judged
from heapsmith.bench.experiments.run import run_experiments
from heapsmith.bench.programs.programs import Program
from heapsmith.codegen import difference, layouts, verify
from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import run_tool
from heapsmith.model.design.design import load
from heapsmith.model.design.plan import make_plan
from heapsmith.model.errors import BadInput, CheckFailed, Missing
from heapsmith.model.memory.hardware import load_hardware
from heapsmith.model.predict.cost import instructions_of, kinds
from heapsmith.model.predict.simulate import simulate
from heapsmith.model.trace.reader import TraceReader
from heapsmith.tools.common.ratios import Ratio

BOOK = book()


def changed(**fields: object) -> Experiment:
    return msgspec.convert({**msgspec.to_builtins(BOOK.experiments["E12"]), **fields}, Experiment)


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    file = tmp_path / "x.toml"
    arms = "arms = [{ name = 'a' }, { name = 'b' }]"
    one = f"about = 'x'\nclaim = {{ text = 'y' }}\nworkloads = ['z']\n{arms}\n"
    file.write_text(f"[workloads]\n[experiments.E1]\n{one}")
    with pytest.raises(BadInput, match=r"x.toml: experiments.E1.workloads: there is no workload 'z'"):
        book(file)
    with pytest.raises(BadInput, match="E99: no such experiment"):
        BOOK.chosen(["E99"])


@pytest.mark.parametrize(
    ("predicted", "interval", "claimed", "expected"),
    [
        (0.9, (0.88, 0.86, 0.91), "less", ("holds here", True)),
        (1.1, (0.88, 0.86, 0.91), "less", ("holds here", False)),
        (0.9, (1.2, 1.1, 1.3), "less", ("opposite here", False)),
        (0.9, (1.0, 0.995, 1.004), "less", ("no difference here", None)),
        (0.9, (1.0, 0.9, 1.1), "less", ("undecided", None)),
        (0.9, (0.5, None, None), "less", ("", None)),  # no interval, no verdict
        (0.5, None, "less", ("", None)),
        (0.9, (0.88, 0.86, 0.91), None, ("", True)),  # no claim, no verdict
        (1.0, (1.0, 0.995, 1.004), "same", ("holds here", None)),
        (1.0, (1.2, 1.1, 1.3), "same", ("opposite here", False)),
        (1.001, (0.97, 0.95, 0.995), "less", ("holds here", True)),  # it may be half a percent
        (0.999, (0.97, 0.95, 0.985), "less", ("holds here", False)),
        (0.999, (1.03, 1.005, 1.05), "less", ("opposite here", True)),
    ],
)
def test_verdicts(
    predicted: float,
    interval: tuple[float, float | None, float | None] | None,
    claimed: Sign | None,
    expected: tuple[Verdict, bool | None],
) -> None:
    assert judged(Change("cpu", predicted, Ratio(*interval) if interval else None), claimed) == expected


def test_an_interrupted_run_goes_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    seen: list[str] = []

    def examine(_: Book, name: str, *__: object, **___: object) -> list[Result]:
        seen.append(name)
        if len(seen) == 2:
            raise KeyboardInterrupt
        return [Result(name, "w", "a", "b", [Change("cpu", 1.0, None)])]

    monkeypatch.setattr(runs, "examine", examine)
    machine = load_hardware("default")

    def run() -> list[str]:
        found = run_experiments(BOOK, ["E7", "E12"], machine, rounds=1, quick=True, progress=lambda *_: None)
        return [one.experiment for one in found.results]

    with pytest.raises(KeyboardInterrupt):
        run()
    assert run() == ["E7", "E12"]
    assert seen == ["E7", "E12", "E12"]
    assert run() == ["E7", "E12"]  # a run that ended leaves nothing: the next one measures anew
    assert seen[3:] == ["E7", "E12"]


def test_arms_are_checked_before_anything_runs() -> None:
    wrong = msgspec.structs.replace(BOOK, experiments={"E12": changed(arms=[{"name": "a"}, {"name": "b"}])})
    with pytest.raises(CheckFailed, match="do not differ in empties"):
        runs.examine(wrong, "E12", load_hardware("default"), rounds=1, quick=True, progress=lambda *_: None)


@pytest.mark.thorough
def test_layouts_of_a_library_are_the_same_code_at_other_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layouts, "LAYOUTS", 3)
    found = layouts.layouts_of(load("bare"))
    places, sizes = set(), set()
    for library in found:
        symbols = [line.split() for line in run_tool(["nm", "-S", str(library)], library.name).splitlines()]
        hot = {words[3]: words for words in symbols if len(words) == 4 and words[3] in ("malloc", "free")}
        places.add(tuple(sorted(words[0] for words in hot.values())))
        sizes.add(tuple(sorted((name, words[1]) for name, words in hot.items())))
    assert (len(places), len(sizes)) == (3, 1)
    assert list(layouts.paddings("a")) == list(layouts.paddings("a")) != list(layouts.paddings("b"))


def test_each_round_has_another_layout() -> None:
    paths: list[Path | None] = [Path(str(number)) for number in range(7)]
    turns = [runs.in_turn(paths, seed) for seed in ("E6 list", "E6 list", "E6 ring-64")]
    first, again, other = ([next(turn) for _ in range(14)] for turn in turns)
    assert first == again
    assert first != other
    assert first[:7] == first[7:]
    assert set(first) == set(paths)


@pytest.mark.thorough
def test_every_arm_has_a_price(tmp_path: Path) -> None:
    """There is a constant for each kind of instructions that an experiment's designs have."""
    trace = random_trace(tmp_path / "t.hst", 6000, 3, max_size=100_000)
    designs = [design for name, one in BOOK.experiments.items() for design in designs_of(name, one).values()]
    known = instructions_of(load_hardware())
    for design, row in zip(designs, simulate(trace, designs).rows, strict=True):
        assert kinds(make_plan(design), row).keys() - known.keys() == set(), design.name


def test_rounds_end_when_the_intervals_are_narrow() -> None:
    def run(*cpu: float) -> list[Measured]:
        return [Measured(one, one, 1, 1, 1) for one in cpu]

    steady, other = run(100, 100, 100, 100, 100), run(90, 90.1, 90.2, 90.3, 90.4)
    assert is_known("cpu", [steady, other])
    assert is_known("slabs", [steady, other])  # the model alone tells it: the rounds are for the times
    assert not is_known("cpu", [steady[:4], other[:4]])
    assert not is_known("cpu", [steady, run(90, 90, 90, 90, 95)])
    assert not is_known("cpu", [steady, other, run(50, 60, 70, 80, 90)])


def test_the_time_left_is_that_of_the_finished_experiments(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 60.0, 60.0])
    monkeypatch.setattr(runs.time, "monotonic", lambda: next(clock))
    said: list[tuple[str, int, int]] = []
    ahead = runs.Ahead(BOOK, ["E7", "E12"], lambda *one: said.append(one))
    ahead("E7", 1, 9)
    ahead.finished("E7")
    ahead("E12", 1, 9)
    assert said == [("E7", 0, 12), ("E12, about 1 min left", 6, 12)]


def test_the_committed_page_is_made_of_figures_of_the_files_arms() -> None:
    page.check()


CONDITIONS = Conditions("epyc", 7, False, 2)


def results(predicted: float, measured: Ratio | None, rounds: int) -> Results:
    """Return the results of a run of E12."""
    changes = [Change("superslabs", predicted, measured), Change("cpu", predicted, measured)]
    row = Result("E12", "shifting", "dedicated", "shared", changes)
    return Results(msgspec.structs.replace(CONDITIONS, rounds=rounds), [row], [], {})


def test_a_prediction_keeps_what_was_measured_of_the_same_arms_alone(tmp_path: Path) -> None:
    file, ratio = tmp_path / "results.json", Ratio(0.5, 0.4, 0.6)
    kept.keep(BOOK, results(0.7, ratio, 7), file)
    kept.keep(BOOK, results(0.6, None, 0), file)
    found = kept.kept(file)["E12"]
    assert (found.conditions.rounds, found.results[0].changes[0]) == (7, Change("superslabs", 0.6, ratio))
    assert "holds here" in page.markdown(BOOK, {"E12": found})
    other = changed(arms=[{"name": "a", "design": {"empties": "once"}}, {"name": "b"}])
    book_of_others = msgspec.structs.replace(BOOK, experiments={**BOOK.experiments, "E12": other})
    assert kept.stale(book_of_others, {"E12": found}) == list(BOOK.experiments)
    new = kept.keep(book_of_others, results(0.6, None, 0), file)["E12"]
    assert (new.conditions.rounds, new.results[0].changes[0].measured) == (0, None)
    text = page.markdown(book_of_others, {"E12": new})
    assert "| not yet |" in text
    assert "Nothing is measured since the arms changed." in " ".join(text.split())
    assert "holds here |" not in text


def test_prose_changes_no_digest_and_the_quantity_does() -> None:
    def digest(**fields: object) -> str:
        return kept.digest(msgspec.structs.replace(BOOK, experiments={"E12": changed(**fields)}), "E12")

    assert digest(about="other", why="other") == digest()
    assert digest(claim={"text": "x", "quantity": "cpu"}) != digest()
    assert digest(base={"thp": "never"}) != digest()


def test_a_row_has_the_claim_of_its_workload_and_arm() -> None:
    claim = BOOK.experiments["E9"].claim
    assert [claim.of(name, "hot").sign for name in ("fixed-16", "random-mixed")] == ["less", "more"]
    assert BOOK.experiments["M28"].claim.of("perl", "everything").sign is None  # no words, no claim


def test_a_damaged_file_of_figures_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(BadInput, match=r"x.json: .*expected figures"):
        kept.kept(tmp_path / "x.json")


def test_commands(lab: Call) -> None:
    assert "E12" in lab("experiments", "list").out
    shown: Answer = lab("experiments", "show", "E12")
    assert (shown.status, "empties" in shown.out) == (0, True)
    assert lab("experiments", "run", "E99").status == 2
    assert lab("experiments", "run", "E12", "-o", "x.txt").status == 2


def test_every_arm_has_a_name_of_its_own() -> None:
    for one in BOOK.experiments.values():
        names = [arm.name for arm in one.arms]
        assert len(set(names)) == len(names)
        assert all(isinstance(arm, Arm) for arm in one.arms)


def test_the_page_of_mechanisms_is_that_of_its_rows() -> None:
    assert mechanisms.PAGE.read_text() == mechanisms.text()


def test_a_row_that_does_not_hold_is_noticed() -> None:
    one = mechanisms.Mechanism("x", {"empties": "dedicated"}, "default", "test_store.py::test_none", ["E99"])
    assert len(mechanisms.faults("M0", one)) == 3


@pytest.mark.thorough
@pytest.mark.skipif(which("valgrind") is None, reason="valgrind is not installed")
def test_profiles_add_up_and_agree(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 6000, 5)
    design = msgspec.structs.replace(load("default"), name="default-opened", opening=None)  # only looks have a price
    arms = [profile.Arm("default", design, [library_of(design)])]
    (shares,) = profile.profiled("E5b", BOOK.experiments["E5b"], "t", trace, arms, load_hardware())
    for told in ([figure.predicted for figure in shares.figures], [figure.measured for figure in shares.figures]):
        assert sum(filter(None, told)) == pytest.approx(1)
    (counters,) = profile.profiled("E38", BOOK.experiments["E38"], "t", trace, arms, load_hardware())
    instructions = counters.figures[0]
    assert instructions.quantity == "instructions"
    assert instructions.predicted == pytest.approx(instructions.measured, rel=0.1)


@pytest.mark.thorough
@pytest.mark.skipif(which("valgrind") is None, reason="valgrind is not installed")
def test_the_dispatcher_is_what_calls_the_functions_of_the_classes(tmp_path: Path) -> None:
    trace = random_trace(tmp_path / "t.hst", 2000, 5)
    design = next(iter(designs_of("E36", BOOK.experiments["E36"]).values()))
    arms = [profile.Arm("list", design, [library_of(design)])]
    (shares,) = profile.profiled("E36", BOOK.experiments["E36"], "t", trace, arms, load_hardware())
    told = {figure.quantity: figure.measured for figure in shares.figures}
    assert sum(filter(None, told.values())) == pytest.approx(1)
    assert all(figure.predicted is None for figure in shares.figures)
    assert min(filter(None, told.values())) > 0.1


def test_an_experiment_that_lacks_a_peer_is_skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    def examined(_: Book, name: str, *__: object, **___: object) -> list[Result]:
        if name == "E2":
            raise Missing("mimalloc: not found")
        return [Result(name, "w", "a", "b", [Change("cpu", 1.0, None)])]

    def run(*names: str) -> runs.Results:
        return run_experiments(BOOK, names, load_hardware(), rounds=1, quick=True, progress=lambda *_: None)

    monkeypatch.setattr(runs, "examine", examined)
    found = run("E2", "E12")
    assert found.skipped == {"E2": "mimalloc: not found"}
    assert [one.experiment for one in found.results] == ["E12"]
    assert "It was skipped: mimalloc: not found." in " ".join(page.markdown(BOOK, kept.of_run(BOOK, found, {})).split())
    with pytest.raises(Missing, match="mimalloc"):
        run("E2")


@pytest.mark.thorough
def test_a_design_that_differs_is_not_kept_as_verified(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The planted fault is a library that counts one refill more than the model."""
    trace = random_trace(tmp_path / "t.hst", 400, seed=1, threads=2)
    monkeypatch.setattr(verifying, "VERIFIED", tmp_path / "verified.json")
    monkeypatch.setattr(mechanisms, "VERIFIED", tmp_path / "verified.json")
    monkeypatch.setattr(verifying, "trace_of", lambda program, folder: trace)
    monkeypatch.setattr(
        verifying, "programs", lambda folder, scale: [Program(one, one, [], ()) for one in verifying.PROGRAMS]
    )
    (tmp_path / "verified.json").write_text("{}\n")
    assert verifying.main(["lean"]) == 0
    kept_then = mechanisms.verified()
    assert kept_then["lean"].events == 2 * sum(TraceReader(trace).footer.events for _ in verifying.PROGRAMS)
    monkeypatch.setattr(verify, "counter_row", lambda counters: difference.counter_row(counters) + 1)
    assert verifying.main(["lean", "ring"]) == 1
    assert mechanisms.verified() == kept_then
