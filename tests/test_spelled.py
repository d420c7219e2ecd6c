"""What is printed of a design can be written: each row's name, as a word and as a kind, and what errors propose."""

import re

import msgspec
import pytest

from heapsmith.model import policy
from heapsmith.model.design.choices import SPELLER_OF
from heapsmith.model.design.design import Design, load, parse
from heapsmith.model.errors import BadInput
from heapsmith.model.search.choice_worth import _value_words as printed
from heapsmith.model.search.choice_worth import put_back
from heapsmith.model.search.space import choices

pytestmark = pytest.mark.quick

PLAIN = Design("x", [16, 32, 64, 128])
FORMS = {"word": '{field} = "{name}"', "kind": '[{field}]\nkind = "{name}"'}
ROWS = [(field, row.NAME) for field in policy.NAMED for row in policy.choosable(field)]


def written(field: str, name: str, form: str) -> Design | str:
    """The design that names a row so, or the error."""
    try:
        return parse(f'name = "x"\nsizes = [16, 32, 64, 128]\n{FORMS[form].format(field=field, name=name)}\n', "x")
    except BadInput as error:
        return str(error)


def is_known(found: Design | str) -> bool:
    """Whether the name was understood: the numbers of its row, or other fields, may be missing."""
    return isinstance(found, Design) or not re.search("unknown policy|Expected|no numbers", found)


@pytest.mark.parametrize("form", FORMS)
def test_every_row_of_every_room_is_known_in_both_forms(form: str) -> None:
    refused = {(field, name): found for field, name in ROWS if not is_known(found := written(field, name, form))}
    assert not refused


@pytest.mark.parametrize("form", FORMS)
def test_the_row_of_a_design_that_states_nothing_can_be_stated(form: str) -> None:
    for field in policy.NAMED:
        found = written(field, PLAIN.row(field).NAME, form)
        if field != "front":  # its row is of numbers that a design states
            assert isinstance(found, Design), found
            assert (found.hash(), found.row(field)) == (PLAIN.hash(), PLAIN.row(field)), field


def test_the_words_beside_what_a_choice_is_worth_can_be_written() -> None:
    base = msgspec.structs.replace(load("default"), name="x")
    for field in set(policy.NAMED) - {"front"}:
        for value in choices(field):
            other = msgspec.structs.replace(base, **{field: value})
            for one, beside in ((base, other), (other, base)):
                name = printed(one, beside, field).split()[0]
                assert all(is_known(written(field, name, form)) for form in FORMS), (field, name)
    assert any(fields == ["thp"] for fields, _ in put_back(msgspec.structs.replace(base, thp="never"), base))


@pytest.mark.parametrize("form", FORMS)
def test_no_error_proposes_what_is_refused(form: str) -> None:
    proposals = 0
    for field, name in ROWS:
        for wrong in (name[:-1], name + "x", name[0] + name, f"{name[:2]}{name[1:]}"):
            found = written(field, wrong, form)
            if isinstance(found, str) and (near := re.search("did you mean '([^']*)'", found)):
                proposals += 1
                assert is_known(written(field, near[1], form)), (field, wrong, near[1])
    assert proposals > len(ROWS)


def test_rows_of_single_classes_too() -> None:
    found = parse("name = 'x'\nsizes = [16]\nclass_front = [{sizes = [16], front = 'none'}]\n", "x")
    assert SPELLER_OF[type(found.front_of(16))].NAME == "none"


def test_a_row_without_numbers_has_none() -> None:
    with pytest.raises(BadInput, match=r"^x: populate\.kind: 'off' has no numbers; expected it alone$"):
        parse("name = 'x'\nsizes = [16]\npopulate = {kind = 'off', bytes = 4096}", "x")
