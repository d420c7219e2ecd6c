"""Addresses of imported stacks become places in the files that were mapped: which file, which frames stay."""

from pathlib import Path

import numpy as np
from elftools.elf.elffile import ELFFile

from heapsmith.model.trace.elf import build_id, offsets_of
from heapsmith.model.trace.imports.mappings import Mapped, tree_of
from heapsmith.model.trace.stacks import MAX_DEPTH, Module

LIBC = "/lib/x86_64-linux-gnu/libc.so.6"


def test_the_last_file_at_an_address_counts_and_unused_frames_go() -> None:
    mapped = [Mapped("/a", 1000, ((0, 100), (200, 50))), Mapped("/b", 1000, ((80, 40),)), Mapped("/c", 9000, ((0, 9),))]
    parent = np.array([-1, 0, 0, 2, 3])
    tree = tree_of(parent, np.array([1210, 1050, 1090, 1110, 7]), np.array([3, 1]), mapped)
    assert tree.modules == [Module("/a", None), Module("/b", None)]
    assert tree.parent.tolist() == [-1, 0, 0, 2]  # frame 4 is part of no stack
    assert tree.module.tolist() == [0, 0, 1, 1]
    assert tree.offset.tolist() == [210, 50, 90, 110]
    assert [tree.path(1), tree.path(2)] == [[3, 2, 0], [1, 0]]
    nowhere = tree_of(parent, np.full(5, 12345), np.array([4]), mapped)
    assert (nowhere.modules, set(nowhere.module), set(nowhere.offset)) == ([], {-1}, {12345})


def test_deep_stacks_are_cut() -> None:
    depth = 3 * MAX_DEPTH + 7
    tree = tree_of(np.arange(depth) - 1, np.arange(depth), np.array([depth - 1, MAX_DEPTH - 1]), [])
    assert [len(tree.path(1)), len(tree.path(2))] == [7 + MAX_DEPTH // 2, MAX_DEPTH]
    assert tree.offset[tree.path(1)[0]] == depth - 1
    assert tree.parent.size <= 2 * MAX_DEPTH


def test_places_in_an_elf_file(tmp_path: Path) -> None:
    with open(LIBC, "rb") as file:
        segments = [one.header for one in ELFFile(file).iter_segments("PT_LOAD")]
    addresses = np.array([one.p_vaddr + 5 for one in segments])
    assert offsets_of(LIBC, addresses).tolist() == [one.p_offset + 5 for one in segments]
    (tmp_path / "text").write_text("no ELF")
    for path in (tmp_path / "text", tmp_path / "none"):
        assert offsets_of(str(path), addresses).tolist() == addresses.tolist()
        assert build_id(str(path)) is None
