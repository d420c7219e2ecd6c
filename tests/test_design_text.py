"""Designs as files: TOML text with reasons beside the values, read back to an equal design, written whole or not."""

from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from heapsmith.model.design.design import BUILTIN, ClassFront, Design, load, parse
from heapsmith.model.design.legal import why_not_name
from heapsmith.model.design.toml import Reason, design_text, write_design
from heapsmith.model.errors import BadInput
from heapsmith.model.policy.front import array_stack as front_array_stack
from heapsmith.model.policy.front import fifo_ring as front_fifo_ring
from heapsmith.model.policy.front import linked_list as front_linked_list
from heapsmith.model.policy.front import none as front_none
from heapsmith.model.policy.front import two_level as front_two_level
from heapsmith.model.policy.hardening import full as hardening_full
from heapsmith.model.policy.hardening import off as hardening_off
from heapsmith.model.policy.release import budget as release_budget
from heapsmith.model.policy.release import keep as release_keep

pytestmark = pytest.mark.quick

DEFAULT = load("default")

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
levels = st.integers(1, 300)
fronts = st.one_of(
    st.just(front_none.Params()),
    st.builds(front_array_stack.Params, capacity=levels, max_bytes=st.integers(1, 1 << 40)),
    st.builds(front_linked_list.Params, capacity=st.just(300), refill=st.none() | levels, flush=st.none() | levels),
    st.builds(front_fifo_ring.Params, capacity=levels),
    st.builds(front_two_level.Params, capacity=levels, list_capacity=levels),
)


@st.composite
def designs(draw: st.DrawFn) -> Design:
    """Legal designs with any text, fronts and numbers."""
    sizes = sorted(draw(st.sets(st.integers(2, 256).map(lambda step: 16 * step), min_size=1, max_size=20)))
    split = draw(st.integers(0, len(sizes)))
    rows = [ClassFront(sizes[:split], draw(fronts)), ClassFront(sizes[split:], draw(fronts))]
    names = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_-]{0,9}", fullmatch=True)
    design = Design(
        draw(names.filter(lambda name: why_not_name(name) is None)),
        sizes,
        draw(words),
        classifier=draw(st.sampled_from(["slab_map", "header"])),
        empties=draw(st.sampled_from(["shared", "dedicated"])),
        slab_bytes=draw(st.sampled_from([8192, 65_536])),
        front=draw(fronts),
        class_front=[row for row in rows if row.sizes],
        release=draw(st.builds(release_keep.Params) | st.builds(release_budget.Params, st.integers(0, 99))),
        hardening=draw(st.just(hardening_off.Params()) | st.builds(hardening_full.Params, st.integers(0, 99))),
        thp=draw(st.sampled_from(["system", "always", "grown", "never"])),
        foreign=draw(st.sampled_from(["leak", "next"])),
        run_cache_bytes=draw(st.sampled_from([0, 4096])),
    )
    assert design.why_not_valid() is None
    return design


@settings(max_examples=40, deadline=None)
@given(designs(), st.dictionaries(st.sampled_from(["design", "sizes", "sizes[0]", "class_front[0]", "name"]), words))
@pytest.mark.slow
def test_toml_reads_back_to_an_equal_design(design: Design, whys: dict[str, str]) -> None:
    text = design_text(design, [Reason(field, "", why) for field, why in whys.items()])
    assert parse(text, "text") == design


def test_builtin_designs_read_back() -> None:
    for path in BUILTIN.glob("*.toml"):
        design = load(path.stem)
        assert parse(design_text(design), path.stem) == design


def test_unwritable_design(tmp_path: Path) -> None:
    (tmp_path / "folder.toml").mkdir()
    for target in (Path("/dev/null/d.toml"), tmp_path / "folder.toml"):
        with pytest.raises(BadInput, match=f"{target.name}: cannot be written: "):
            write_design(target, DEFAULT)
    assert [path.name for path in tmp_path.iterdir()] == ["folder.toml"]


def test_a_failed_write_leaves_the_old_design(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target = tmp_path / "d.toml"
    write_design(target, DEFAULT)
    old = target.read_text()

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(BadInput, match="No space left"):
        write_design(target, msgspec.structs.replace(DEFAULT, name="other"))
    assert target.read_text() == old
    assert [path.name for path in tmp_path.iterdir()] == ["d.toml"]
