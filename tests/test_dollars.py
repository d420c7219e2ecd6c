"""What a saving is worth: by made-up rounds, whose dollars are worked out by hand, and in the commands."""

import json
import math
from collections.abc import Callable

import pytest
from conftest import Answer
from test_verdict import table

from heapsmith.api.programs import Compared, price_of
from heapsmith.model.errors import BadInput
from heapsmith.tools.compare.worth import Price, worth
from heapsmith.tools.forge.verdict import Verdict, worth_of

pytestmark = pytest.mark.quick

Call = Callable[..., Answer]
PRICE = Price(200, 30.0, 25.0)
SAVES = ((100, 100_000, 100), (100, 100_000, 100), (90, 80_000, 100))
"""CPU, peak and average of three mallocs: the last takes 10 % less CPU and 20 % less memory."""


def test_dollars_are_instances_by_price_by_what_is_saved() -> None:
    found = table(SAVES)
    memory, processors = worth(found.rows[2], found.rows[0], PRICE)
    assert (memory.library, memory.against, memory.of) == ("libjob.so", "glibc", "memory")
    assert memory.amount == pytest.approx(200 * 1e9 / 1e9, rel=1e-3)  # the rounds are 10,000 times a figure
    assert memory.dollars == pytest.approx(200 * 30 * 0.2, rel=1e-3)
    assert processors.amount == pytest.approx(200, rel=1e-3)  # each run keeps one busy
    assert processors.dollars == pytest.approx(200 * 25 * 0.1, rel=1e-2)
    for one in (memory, processors):
        assert one.low is not None
        assert one.dollars is not None
        assert one.high is not None
        assert 0 < one.low <= one.dollars <= one.high
    assert memory.sentence() == (
        f"libjob.so against glibc, memory (200 GB of all instances): saves 1,200.00 dollars "
        f"({memory.low:,.2f} to {memory.high:,.2f})."
    )


def test_no_difference_is_no_dollars() -> None:
    found = table(SAVES)
    same = worth(found.rows[1], found.rows[0], PRICE)
    assert [(one.dollars, one.low, one.high) for one in same] == [(None, None, None)] * 2
    assert same[0].sentence() == "libdefault.so against glibc, memory (200 GB of all instances): no saving is shown."
    assert "dollars" not in same[1].sentence()


def test_a_loss_is_said_as_one() -> None:
    found = table(SAVES)
    memory, _ = worth(found.rows[0], found.rows[2], PRICE)
    assert memory.dollars == pytest.approx(-160 * 30 * 0.25, rel=1e-3)
    assert memory.low is not None
    assert memory.high is not None
    assert memory.low <= memory.dollars <= memory.high < 0
    assert "costs 1,200.00 dollars (" in memory.sentence()


def test_few_rounds_say_nothing() -> None:
    found = table(SAVES, rounds=4)
    assert [one.dollars for one in worth(found.rows[2], found.rows[0], PRICE)] == [None, None]


def test_a_forge_says_it_of_the_malloc_to_use() -> None:
    found = table(SAVES)

    def of(use: str | None, *between: str) -> set[tuple[str, str]]:
        decided = Verdict(use, [], None, [*between])
        return {(one.library, one.against) for one in worth_of(found, decided, PRICE)}

    assert of("libjob.so") == of(None) == {("libjob.so", "glibc")}
    assert of("glibc") == of(None, "glibc") == set()
    assert of(None, "glibc", "libdefault.so") == {("libdefault.so", "glibc")}  # the forged one is forbidden


def test_each_price_by_itself() -> None:
    compared = Compared(table(SAVES))
    assert [row.of for row in compared.worth(dollar_per_gb=1.0).details.rows] == ["memory"] * 2
    assert [row.of for row in compared.worth(dollar_per_core=1.0).details.rows] == ["processors"] * 2
    one, many = (compared.worth(instances=n, dollar_per_gb=1.0).details.rows[1].dollars for n in (1, 1000))
    assert one is not None
    assert many == pytest.approx(1000 * one)


@pytest.mark.parametrize("price", [0.0, -1.0, math.inf, math.nan])
def test_what_is_no_price_is_refused(price: float) -> None:
    with pytest.raises(BadInput, match=r"^dollar_per_core: .* is no price; expected a number above 0$"):
        price_of(1, None, price)
    with pytest.raises(BadInput, match=r"^instances: expected dollar_per_gb or dollar_per_core too$"):
        price_of(2)


@pytest.mark.slow
def test_the_commands_refuse_before_their_work(call: Call) -> None:
    for command in (("compare", "--lib", "glibc"), ("forge", "-o", "out")):
        for options, complaint in (
            (("--instances", 3), "--instances: expected --dollar-per-gb or --dollar-per-core too"),
            (("--dollar-per-gb", -3), "--dollar-per-gb: -3 is no price; expected a number above 0"),
        ):
            answer = call(*command, *options, "--", "true")
            assert (answer.status, answer.out) == (2, "")
            assert answer.err == f"heapsmith: {complaint}\n"


@pytest.mark.slow
def test_compare_ends_with_it(call: Call) -> None:
    words = ["compare", "--lib", "glibc", "--lib", "default", "--rounds", "5"]
    prices = ["--instances", "10", "--dollar-per-gb", "30", "--dollar-per-core", "25"]
    answer = call(*words, *prices, "--", "true")
    assert answer.status == 0, answer.err
    ended = " ".join(answer.out.split()).rpartition("default against glibc, memory")[2]
    assert "GB of all instances)" in ended
    assert "processors (" in ended
    plain, priced = (json.loads(call(*words, *more, "--json", "--", "true").out) for more in ([], prices))
    assert "worth" not in plain
    assert priced["worth"]["price"]["instances"] == 10
    assert len(priced["worth"]["rows"]) == 2
