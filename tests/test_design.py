"""Designs: the built-in ones are legal, an illegal one gets a reason that names the field, equal heaps hash alike."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from heapsmith.model import policy
from heapsmith.model.design.design import Design, builtin_names, changed, load, parse, schema
from heapsmith.model.design.legal import SYSTEM_LIBRARIES
from heapsmith.model.design.toml import design_name
from heapsmith.model.errors import BadInput
from heapsmith.tools.peers.peers import is_c_library

pytestmark = pytest.mark.quick

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
    (
        "sizes = [16]\ndispatch = 'row'\nfront = { kind = 'none' }",
        "dispatch: 'row' needs an array stack as the front of",
    ),
    ("sizes = [16]\ndispatch = 'row'\nfront = { kind = 'fifo_ring' }", "dispatch: 'row' needs an array stack"),
    ("sizes = [16]\ndispatch = 'class'\nfront = { kind = 'none' }", "dispatch: 'class' needs a front with a hit path"),
    ("sizes = [16]\ndispatch = 'both'", "dispatch: "),
    (
        "sizes = [16]\nheaps = 'processor'\nrun_cache_bytes = 0\ndispatch = 'class'",
        "dispatch: 'class' cannot go with heaps 'processor'",
    ),
    ("sizes = [16]\ngrain = 8\nclassifier = 'header'", "grain: 8 cannot go with classifier 'header'"),
    (
        "sizes = [8, 16, 32, 40]\ngrain = 8",
        "sizes[3]: 40 would be 8-aligned, and requests of 16 bytes or more must be 16-aligned; "
        "expected 8 or a multiple of 16",
    ),
    ("sizes = [8, 12]\ngrain = 8", "sizes[1]: 12 is not a block size; expected 8 or a multiple of 16"),
    ("sizes = [0]\ngrain = 8", "sizes[0]: 0 is not a block size; expected 8 or a multiple of 16"),
    ("sizes = [8, 16]", "sizes[0]: 8 is not a block size; expected a multiple of 16, 16 or more"),
    ("sizes = [16]\nclassifier = 'class_region'", "empties: 'shared' cannot go with classifier 'class_region'"),
    ("sizes = [16]\nclassifier = 'slabmap'", "classifier: unknown policy 'slabmap'; did you mean 'slab_map'?"),
    ("sizes = [16]\nremote = 'owner'", "remote: unknown policy 'owner'; did you mean 'owner_list'?"),
    (
        "sizes = [16]\nremote = { kind = 'owner_list', drain_interval = 0 }",
        "remote.drain_interval: 0; expected 1 to 1073741824",
    ),
    (
        "sizes = [16]\nremote = { kind = 'owner_list', drain_interval = 8, drain_counts = 'free' }",
        "remote.drain_counts: unknown policy 'free'; did you mean 'frees'?",
    ),
    (
        "sizes = [16]\nrelease = { kind = 'delay', unit = 'years' }",
        "release.unit: unknown policy 'years'; did you mean 'bytes'?",
    ),
    (
        "sizes = [16]\nshards = { kind = 'striped', by = 'x' }",
        "shards.by: unknown policy 'x'; expected one of class, thread",
    ),
    (
        "sizes = [16]\nremote = { kind = 'owner_queue', drain_most = 8, drain_counts = 'frees' }",
        "remote.drain_counts: 'frees' of no interval; expected drain_interval too",
    ),
    (
        "sizes = [16]\nclassifier = 'magic_header'\nhardening = { kind = 'checks' }",
        "classifier: 'magic_header' cannot go with hardening 'checks', which looks at no byte before it",
    ),
    (
        "sizes = [16]\nclassifier = 'magic_header'\nforeign = 'probe'",
        "classifier: 'magic_header' cannot go with foreign 'probe', which asks the system before any byte is read",
    ),
    (
        f"sizes = {[16 * (1 + i) for i in range(65)]}\nclassifier = 'magic_header'",
        "sizes: 65 classes cannot go with classifier 'magic_header'; expected at most 64",
    ),
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
    ("sizes = [16]\nrelease = { kind = 'budget', slab_budget_bytes = -1 }", "release.slab_budget_bytes: -1 is out of"),
    ("sizes = [16]\nrelease = { kind = 'budget', run_budget_bytes = -1 }", "release.run_budget_bytes: -1 is out of"),
    (
        "sizes = [16]\nrelease = { kind = 'budget', run_budget_bytes = 99999999999999999999 }",
        "release.run_budget_bytes",
    ),
    (
        "sizes = [16]\nrelease = { kind = 'budget', advice = 'fre' }",
        "release.advice: unknown policy 'fre'; did you mean 'free'?",
    ),
    (
        "sizes = [16]\nrelease = { kind = 'eager' }",
        "release.kind: unknown policy 'eager'; expected one of budget, delay, keep",
    ),
    ("sizes = [16]\nrelease = { kind = 'delay', delay = 0 }", "release.delay: 0 is out of range; expected 1 to"),
    ("sizes = [16]\nrelease = { kind = 'delay', most = 0 }", "release.most: 0 is out of range; expected 1 to"),
    ("sizes = [16]\nrelease = { kind = 'delay', unit = 'seconds' }", "release.unit"),
    ("sizes = [16]\nrelease = { kind = 'budget', slab_budget = 1 }", "did you mean 'slab_budget_bytes'?"),
    ("sizes = [16]\nrun_cache_bytes = 5000", "run_cache_bytes: 5000; expected a multiple of 4096"),
    ("sizes = [16]\nrun_cache_bytes = -4096", "run_cache_bytes: -4096"),
    ("sizes = [16]\nrun_cache_bytes = 1073745920", "run_cache_bytes: 1073745920"),
    ("sizes = [16]\nthp = 'allways'", "thp: unknown policy 'allways'; did you mean 'always'?"),
    ("sizes = [16]\nthp = 'always'\nsuperslab_bytes = 1048576", "superslab_bytes: 1048576 cannot go with thp 'always'"),
    ("sizes = [16]\nthp_block_bytes = 2097153", "thp_block_bytes: 2097153; expected 0 to 2097152"),
    ("sizes = [16]\nforeign = 'lek'", "foreign: unknown policy 'lek'; did you mean 'leak'?"),
    ("sizes = [16]\nhardening = { kind = 'ful' }", "hardening.kind: unknown policy 'ful'; did you mean 'full'?"),
    ("sizes = [16]\nhardening = {}", "hardening.kind: is missing; expected one of off, basic, checks, full"),
    ("sizes = [16]\nhardening = { kind = 'off', quarantine = 1 }", "hardening: unknown field 'quarantine'"),
    ("sizes = [16]\nhardening = { kind = 'full', quarantine = -1 }", "hardening.quarantine: -1 is out of range"),
    ("sizes = [16]\nhardening = { kind = 'full', quarantine = 4097 }", "hardening.quarantine: 4097 is out of range"),
    ("sizes = [8]\ngrain = 8\nhardening = { kind = 'full' }", "sizes[0]: 8 is not a block size"),
    ("sizes = [16]\ngrain = 8\nhardening = { kind = 'full' }", "grain: 8 cannot go with hardening 'full'"),
    (
        "sizes = [16]\nclassifier = 'header'\nhardening = { kind = 'full' }",
        "sizes[0]: 16 is not a block size; expected a multiple of 16, 32 or more",
    ),
    ("sizes = [16]\nsizes = [16]", "not TOML"),
    ("sizes = [16]\nsize_lookup = { kind = 'computed', steps = 3 }", "size_lookup.steps: 3; expected a power of two"),
    (
        "sizes = [32, 64, 96, 112]\nsize_lookup = { kind = 'computed', steps = 2 }",
        "sizes[3]: 112 is not what size_lookup 'computed' gives with 2 steps per doubling; expected 32, 64, 96, 128",
    ),
    ("sizes = [16, 48]\nsize_lookup = { kind = 'shared_table', granularity = 32 }", "32 does not divide the size 16"),
    ("sizes = [16]\nsize_lookup = { kind = 'shared_table', granularity = 3 }", "size_lookup.granularity: 3; expected"),
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
    assert fronts == {row.NAME for row in policy.choosable("front")}
    assert {design.thp for design in designs} >= {"system", "always"}


def test_names_do_not_change_the_hash_and_numbers_do() -> None:
    design = load("default")
    assert msgspec.structs.replace(design, name="other", about="").hash() == design.hash()
    assert msgspec.structs.replace(design, slab_bytes=32_768).hash() != design.hash()


UNSTATED = {field: policy.default(field) for field in policy.TABLES}
WORDS = [field for field, row in UNSTATED.items() if hasattr(row, "OFF") and not hasattr(row, "Params")]


@pytest.mark.parametrize("field", WORDS)
def test_what_a_design_has_without_stating_it_can_be_stated(field: str) -> None:
    """A file by the name of the row, a change also by "off": it is the same design."""
    text = "name = 'a'\nsizes = [16]\nfront = { kind = 'array_stack' }\n"
    without, name = parse(text, "a.toml"), policy.default(field).NAME
    stated = parse(f"{field} = '{name}'\n{text}", "a.toml")
    assert (stated, stated.hash()) == (without, without.hash())
    assert changed(without, "a", {field: name}) == changed(without, "a", {field: "off"}) == without


def test_an_unknown_design_suggests_the_nearest() -> None:
    with pytest.raises(BadInput, match="did you mean 'default'"):
        load("defualt")


@given(st.text(max_size=20))
@pytest.mark.slow
def test_only_names_that_can_name_files_are_legal(name: str) -> None:
    plain = bool(name) and name[0].isascii() and name[0].isalnum()
    plain = plain and all(letter.isascii() and (letter.isalnum() or letter in "-_") for letter in name)
    assert (Design(name, [16]).why_not_valid() is None) == (plain and not SYSTEM_LIBRARIES.fullmatch(name))


@pytest.mark.parametrize("name", ["c", "m", "dl", "pthread"])
def test_a_design_is_no_library_of_the_system(name: str) -> None:
    with pytest.raises(BadInput, match=rf"x\.toml: name: '{name}' .*: lib{name}\.so is a library of the system"):
        parse(f'name = "{name}"\nsizes = [16]\n', "x.toml")
    assert Design(design_name(name), [16]).why_not_valid() is None
    assert not is_c_library(f"/tmp/lib{name}.so")
    assert is_c_library("/lib/x86_64-linux-gnu/libc.so.6")
    assert is_c_library("/lib/libc-2.31.so")


def test_the_schema_names_every_field() -> None:
    fields = schema()["$defs"]["Design"]["properties"]
    assert set(fields) == set(Design.__struct_fields__)


def test_a_change_takes_a_choice_away() -> None:
    assert changed(load("default"), "x", {"shards": "off", "populate": "off"}).shards is None
    assert changed(load("lock-free-lists"), "x", {"pool": "off"}).row("pool") is policy.default("pool")
    with pytest.raises(BadInput, match="remote"):
        changed(load("default"), "x", {"remote": "off"})  # a design cannot do without it


def test_files_here_do_not_hide_built_in_designs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "default").mkdir()
    (tmp_path / "lean").write_text('name = "own"\nsizes = [16]\n')
    (tmp_path / "mine").write_text('name = "own"\nsizes = [16]\n')
    names = [load(spec).name for spec in ("default", "lean", "./lean", "mine")]
    assert names == ["default", "lean", "own", "own"]
