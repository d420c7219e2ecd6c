"""JSON of results: the text is that of Python's json with null for infinite numbers, byte for byte."""

import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from heapsmith.model.files import json_text

pytestmark = pytest.mark.quick

TEXTS = st.text(st.characters(exclude_categories=()))  # halves of surrogate pairs too
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner) | st.dictionaries(TEXTS | st.integers(), inner))


def expected(value: Any, indent: int | None) -> str:
    """What json writes in lines by its encoder in Python."""
    plain = json.loads(json.dumps(value), parse_constant=lambda _: None)
    return json.dumps(plain, indent=indent).replace("\x7f", "\\u007f")


@given(VALUES, st.sampled_from([None, 2]))
@example([[], {}, {"a": []}, [{}], {}], 2)
@example([1e16, 1e-7, -0.0, 1e22, 10**30, math.inf, math.nan], 2)
@example('\x7f \x00 \ud800 \U0001f600 [1, 2] {"a": 1} \\ / \u2028', 2)
def test_it_is_the_text_of_json(value: Any, indent: int | None) -> None:
    assert json_text(value, indent) == expected(value, indent)


def test_large_results_are_not_written_by_the_slow_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the encoder in Python")

    monkeypatch.setattr(json.encoder, "_make_iterencode", refuse)
    assert json_text({"a": [1]}) == '{\n  "a": [\n    1\n  ]\n}'
