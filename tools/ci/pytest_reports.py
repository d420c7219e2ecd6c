"""The reports of a child of pytest as JSON in which tuples stay tuples, as pytest and its plugins expect them."""

import json
from typing import Any

import pytest

TUPLE = "tuple of a report"
"""The one key of an object that stands for a tuple."""


def is_own(report: pytest.TestReport) -> bool:
    """Whether it reports a phase of the test; else a subtest, whose reports are of a class of their own."""
    return type(report) is pytest.TestReport


def ends_test(report: pytest.TestReport) -> bool:
    """Whether nothing is left to judge after it: a failure, or a skip of the test and not of a subtest."""
    return bool(report.failed or (report.skipped and is_own(report)))


def packed(answer: object) -> str:
    """The text of what a child says. What JSON does not have, as properties of a test may, is a string."""
    return json.dumps(_tagged(answer), default=str)


def unpacked(text: str) -> Any:
    """What a child said."""
    return json.loads(text, object_hook=_untagged)


def _tagged(value: object) -> object:
    if isinstance(value, tuple):
        return {TUPLE: [_tagged(one) for one in value]}
    if isinstance(value, list):
        return [_tagged(one) for one in value]
    if isinstance(value, dict):
        return {str(name): _tagged(one) for name, one in value.items()}
    return value


def _untagged(found: dict[str, Any]) -> Any:
    return tuple(found[TUPLE]) if found.keys() == {TUPLE} else found
