"""Designs: the built-in ones are legal, an illegal one gets a reason that names the field, equal heaps hash alike."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapsmith.model import policy
from heapsmith.model.design import Design, builtin_names, load, parse, schema
from heapsmith.model.errors import BadInput

WRONG = [
    ("sizes = []", "sizes: 0 classes"),
    ("sizes = [16, 16]", "sizes[1]: 16 repeats"),
    ("sizes = [32, 16]", "sizes[1]: 16 is below"),
    ("sizes = [24]", "sizes[0]: 24 is not a block size"),
    ("sizes = [0]", "sizes[0]: 0 is not a block size"),
    ("sizes = [131072]", "sizes[0]: 131072 does not fit a slab"),
    ('sizes = ["a"]', "sizes[0]: Expected `int`"),
    ("sizes = [16]\nslab_bytes = 5000", "slab_bytes: 5000 is not usable"),
    ("sizes = [16]\nsuperslab_bytes = 4096", "superslab_bytes: 4096 is not usable"),
    ("sizes = [16]\nhuge_bytes = 5000", "huge_bytes: 5000"),
    ("sizes = [16]\ngrain = 8\nclassifier = 'header'", "grain: 8 cannot go with classifier 'header'"),
    ("sizes = [16, 40]\ngrain = 8", "sizes[1]: 40 would serve requests of 32 bytes, 8-aligned"),
    ("sizes = [16]\nclassifier = 'class_region'", "empties: 'shared' cannot go with classifier 'class_region'"),
    ("sizes = [16]\nclassifier = 'slabmap'", "classifier: unknown policy 'slabmap'; did you mean 'slab_map'?"),
    ("sizes = [16]\nremote = 'owner'", "remote: unknown policy 'owner'; did you mean 'owner_list'?"),
    ("sizes = [16]\nfrnt = 1", "unknown field 'frnt'; did you mean 'front'?"),
    (
        "sizes = [16]\nfront = { kind = 'fifo_rign' }",
        "front.kind: unknown policy 'fifo_rign'; did you mean 'fifo_ring'?",
    ),
    ("sizes = [16]\nfront = { kind = 'none', capacity = 3 }", "front: unknown field 'capacity'"),
    ("sizes = [16]\nfront = { kind = 'array_stack', capacity = 0 }", "front.capacity: 0 is not a capacity"),
    ("sizes = [16]\nfront = { kind = 'array_stack', capacity = 4, flush = 5 }", "front.flush: 5 is not a batch"),
    ("sizes = [16]\nfront = { kind = 'two_level', list_capacity = 0 }", "front.list_capacity: 0 is not a capacity"),
    ("sizes = [16]\n[[class_front]]\nsizes = [32]\nfront = { kind = 'none' }", "class_front[0].sizes: 32 is none of"),
    (
        "sizes = [16]\n[[class_front]]\nsizes = [16]\nfront = { kind = 'linked_list', max_bytes = 0 }",
        "class_front[0].front.max_bytes: 0 is too few",
    ),
    ("sizes = [16]\nrelease = { kind = 'eager', keep_slabs = -1 }", "release.keep_slabs: -1 is negative"),
    ("sizes = [16]\nrelease = { kind = 'eager', run_bytes = 100 }", "release.run_bytes: 100"),
    ("sizes = [16]\nsizes = [16]", "not TOML"),
]


@pytest.mark.parametrize(("text", "reason"), WRONG, ids=[reason for _, reason in WRONG])
def test_an_illegal_design_gets_a_reason_in_one_line(text: str, reason: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse(f'name = "x"\n{text}\n', "x.toml")
    assert str(caught.value).startswith("x.toml: ")
    assert reason in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("name", builtin_names())
def test_the_built_in_designs_are_legal_and_say_what_for(name: str) -> None:
    design = load(name)
    assert design.why_not_valid() is None
    assert design.name == name
    assert design.about


def test_the_built_in_designs_use_every_policy() -> None:
    designs = [load(name) for name in builtin_names()]
    fronts = {design.front_of(size).__struct_config__.tag for design in designs for size in design.sizes}
    assert fronts == set(policy.names(policy.FRONTS))
    assert {design.classifier for design in designs} == set(policy.names(policy.CLASSIFIERS))
    assert {design.slab_choice for design in designs} == set(policy.names(policy.SLAB_CHOICES))
    assert {design.empties for design in designs} == set(policy.names(policy.EMPTIES))
    assert {design.remote for design in designs} == set(policy.names(policy.REMOTES))
    assert {design.release.__struct_config__.tag for design in designs} == set(policy.names(policy.RELEASES))


def test_names_do_not_change_the_hash_and_numbers_do() -> None:
    design = load("default")
    assert msgspec.structs.replace(design, name="other", about="").hash() == design.hash()
    assert msgspec.structs.replace(design, slab_bytes=32_768).hash() != design.hash()


def test_an_unknown_design_suggests_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'default'"):
        load("defualt")


@given(st.text(max_size=20))
def test_only_names_that_can_name_files_are_legal(name: str) -> None:
    plain = bool(name) and name[0].isascii() and name[0].isalnum()
    plain = plain and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    assert (Design(name, [16]).why_not_valid() is None) == plain


def test_the_schema_names_every_field() -> None:
    fields = schema()["$defs"]["Design"]["properties"]
    assert set(fields) == set(Design.__struct_fields__)
