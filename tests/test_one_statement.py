"""An option that a command shares with a function of the Python interface is stated once: in the function's types."""

import inspect
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import pytest
import typer
from conftest import Answer

import heapsmith
from heapsmith.api import trials
from heapsmith.api.models import Simulations
from heapsmith.api.stated import Argument, Option, Stated, Unfit, in_python, stated
from heapsmith.commands import cli
from heapsmith.commands.options import Commands, Given, flag_of, options_of, said_of
from heapsmith.model.errors import BadInput

FUNCTIONS: list[Callable[..., Any]] = [
    *(one for name in heapsmith.__all__ if inspect.isfunction(one := getattr(heapsmith, name))),
    Simulations.bytes,
    trials.ab,
    trials.bisect,
]
UNSAID = {
    "record": {"stacks", "stdin", "stdout", "stderr"},  # --stacks and --depth; a command has the standard streams
    "simulate": {"times"},  # --latency and --recorded-times
    "compare": {"env", "say"},  # env(1) says it; standard error hears
    "ab": {"command"},  # what is behind --
    "bisect": {"command"},
}
"""Parameters that are no option of a command."""
Command = tuple[str, Callable[..., Any]]


def commands(app: typer.Typer, above: str = "") -> Iterator[Command]:
    """The words and the function of each command, whose signature has what is said of its options."""
    for info in app.registered_commands:
        assert info.callback is not None
        function = vars(info.callback)["__wrapped__"]
        yield above + (info.name or function.__name__), function
    for group in app.registered_groups:
        assert group.typer_instance is not None
        inside = f"{group.name} " if isinstance(group.name, str) else ""
        yield from commands(group.typer_instance, above + inside)


def flag(name: str, one: Stated) -> str:
    """What a parameter of a function is called on the command line."""
    kind = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=Annotated[int, one.said])
    return flag_of(kind)


def faults(found: list[Command]) -> Iterator[str]:
    """Each option that is stated beside the statement of a function, and each that a command lacks."""
    said = [(function, name, one) for function in FUNCTIONS for name, one in stated(function).items() if one.said]
    for command, callback in found:
        parameters = inspect.signature(callback).parameters
        for function, name, one in said:
            for own in parameters.values():
                again = said_of(own)
                alike = again is not None and not isinstance(again, Argument) and flag_of(own) == flag(name, one)
                same_words = again is not None and one.said is not None and again.help == one.said.help
                if alike and again is not one.said and (same_words or function.__name__ == command):
                    yield f"{command} states {flag_of(own)} of {function.__name__} again"
            if function.__name__ == command and (name not in parameters or said_of(parameters[name]) is not one.said):
                yield f"{command} does not take {name} of {function.__name__}"


def test_options_of_functions_are_stated_there_alone() -> None:
    found = list(commands(cli.app))
    assert {function.__name__ for function in FUNCTIONS} - {"bytes"} <= {name for name, _ in found}
    assert list(faults(found)) == []


def test_a_second_statement_is_found() -> None:
    app, said = Commands(), stated(heapsmith.simulate)["births"].said
    assert said

    @app.command()
    @options_of(heapsmith.compare, "command libraries rounds seconds")
    def compare(
        given: Given, rounds: Annotated[int | None, Option("Rounds.", least=2)] = None, everywhere: bool = False
    ) -> None: ...

    @app.command()
    def reuse(births: Annotated[str | None, Option(said.help)]) -> None: ...

    assert set(faults(list(commands(app)))) == {
        "compare states --rounds of compare again",
        "compare does not take rounds of compare",
        "compare does not take everywhere of compare",
        "reuse states --births of simulate again",
    }


@pytest.mark.parametrize("function", FUNCTIONS)
def test_every_parameter_is_said_and_its_docstring_has_it(function: Callable[..., Any]) -> None:
    found = stated(function)
    unsaid = {name for name, one in found.items() if not one.said}
    assert unsaid - {"self", "progress"} == UNSAID.get(function.__name__, set())
    for name, one in found.items():
        if one.said:
            assert f":param {name}: {in_python(one.said)}" in (function.__doc__ or "")
            assert not {*"[]{}"} & {*in_python(one.said)}


def test_arguments_that_do_not_go_together_have_the_names_of_the_caller(call: Callable[..., Answer]) -> None:
    with pytest.raises(Unfit, match=r"^rounds and seconds: expected one of them, not both$"):
        heapsmith.compare(["true"], ["glibc"], rounds=1, seconds=1)
    with pytest.raises(BadInput, match=r"^births and deaths: expected machine too, whose caches they fill$"):
        heapsmith.simulate("no.hst", births="all")
    answer = call("compare", "--lib", "glibc", "--rounds", "1", "--time", "1s", "--", "true")
    assert (answer.status, answer.err) == (2, "heapsmith: --rounds and --time: expected one of them, not both\n")
    answer = call("record", "--depth", "300", "-o", "no.hst", "--", "true")
    assert (answer.status, answer.err) == (2, "heapsmith: --depth: expected 1 to 256 frames, got 300\n")
    answer = call("simulate", "no.hst", "--cores", "2")
    said = "--latency, --cores and --recorded-times: expected --machine too, whose costs they use"
    assert (answer.status, answer.err) == (2, f"heapsmith: {said}\n")


def test_a_default_is_that_of_the_function() -> None:
    tune = dict(commands(cli.app))["tune"]
    own = {name: one.default for name, one in inspect.signature(tune).parameters.items()}
    assert {name: own[name] for name in ("base", "favour", "seed", "max_overhead", "max_classes", "machine")} == {
        name: one.default for name, one in stated(heapsmith.tune).items() if one.default not in (None, inspect._empty)
    }
