"""One behaviour of the heap per tiny program, under every design and under glibc: status, output, errors are exact."""

import os
import subprocess
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from random import sample

import pytest
from covering import all_designs, covering_designs, of_each_row, soon
from loaded import Loaded, RealThread, checked_library

from heapsmith.codegen.built import library_of
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.constants import PAGE
from heapsmith.model.design.design import Design, builtin_names, changed, load
from heapsmith.model.design.plan import make_plan
from heapsmith.tools.common.preload import preloadable

FOLDER = Path(__file__).parent / "behaviours"
SOURCES = sorted([*FOLDER.glob("*.c"), *FOLDER.glob("*.cpp")])
COMMON = ["-O0", "-D_GNU_SOURCE", "-pthread", "-Wall", "-Wextra", "-Wno-alloc-size-larger-than", "-Wno-unused-result"]
FLAGS = {
    ".c": ["-std=gnu11", "-fno-builtin", "-Wno-use-after-free", *COMMON],
    ".cpp": ["-std=c++17", "-fno-builtin", "-fno-allocation-dce", *COMMON, "-lstdc++"],
}
"""By the source's suffix: an allocation that the compiler can see through stays a call."""

SOON = of_each_row(1)
"""The covering design of the default suite."""

TIMEOUT = 300

GLIBC_DEVIATES = {
    "aligned_alloc_einval": "glibc before 2.38 rounds a bad alignment up, as memalign does",
    "free_aligned_sized": "C23's function is not in glibc 2.36",
    "free_sized": "C23's function is not in glibc 2.36",
    "new_aligned_too_large": "libstdc++ 12 rounds the size up to the alignment without a look at wrapping",
    "posix_memalign_enomem_errno": "glibc sets errno on the way to the ENOMEM that it returns",
}
"""Behaviours that the C library of Debian 12 itself does not have; every other one it has."""


@cache
def programs() -> dict[str, Path]:
    """Every behaviour's program by name, built once; in random order, so that two processes share the work."""
    shuffled = sample(SOURCES, len(SOURCES))
    return {source.stem: build_tool(source.stem, [source], FLAGS[source.suffix]) for source in shuffled}


def fault(program: Path, library: Path | None) -> str | None:
    """What the program did other than end with status 0 in silence, in one line; None if that is what it did."""
    environment = {name: value for name, value in os.environ.items() if name not in ("LD_PRELOAD", "HEAPSMITH")}
    if library is not None:
        environment["LD_PRELOAD"] = preloadable(library)
    try:
        done = subprocess.run([program], env=environment, capture_output=True, timeout=TIMEOUT, check=False)
    except subprocess.TimeoutExpired:
        return f"still running after {TIMEOUT} s"
    if (done.returncode, done.stdout, done.stderr) == (0, b"", b""):
        return None
    return f"status {done.returncode}, output {done.stdout[:200]!r}, errors {done.stderr[:500]!r}"


def faults(library: Path | None) -> dict[str, str]:
    """The behaviours that do not hold under the library, with what was found."""
    found = {name: fault(program, library) for name, program in programs().items()}
    return {name: text for name, text in found.items() if text is not None}


FILLS = ("memory_out_of_small", "memory_out_mixed_sizes")
"""What takes minutes where each of 80,000 slabs of a page is sought by a walk over those before it."""


GROWS = (*FILLS, "thread_short_lives")
"""What cannot hold in bounded time or memory where an empty slab never serves again."""


HEADS = ("malloc_trim_gives_back",)
"""What cannot hold where slabs of a page have their records in the first page of each superslab: that page stays."""

LENDS = ("realloc_same_size",)
"""What cannot hold where a class of over twice the size lends a block: realloc shrinks it."""


def kept_out(design: Design) -> Sequence[str]:
    """The behaviours that a design cannot have."""
    return [
        *(GROWS if design.empties == "once" else ()),
        *(LENDS if design.rounding is not None else ()),
        *(HEADS if make_plan(design).numbers.get("head_slabs") else ()),
        *(FILLS if design.slab_choice == "scan" and design.slab_bytes == PAGE else ()),
    ]


def expect_all(library: Path, *, but: Sequence[str] = ()) -> None:
    """Every behaviour holds under the library, but for those named."""
    found = {name: text for name, text in faults(library).items() if name not in but}
    surprises = [f"{name}: {text}" for name, text in found.items()]
    assert not surprises, f"{len(surprises)} of {len(SOURCES)} behaviours:\n" + "\n".join(surprises)


@pytest.mark.thorough
def test_glibc() -> None:
    found = faults(None)
    surprises = {name: text for name, text in found.items() if name not in GLIBC_DEVIATES}
    assert surprises == {}
    if os.confstr("CS_GNU_LIBC_VERSION") == "glibc 2.36":
        assert found.keys() == GLIBC_DEVIATES.keys()


EARLY = (
    *("calloc_zero_small_reused", "errno_extras", "fork_with_threads", "free_aligned_sized", "free_sized"),
    *("libc_names", "mallinfo2_follows", "malloc_info_einval", "memory_in_thread_out", "memory_out_entry_points"),
    *(
        "new_std_aligned_alloc",
        "posix_memalign_einval",
        "posix_memalign_enomem",
        "realloc_all_pairs",
        "realloc_failed_keeps",
        "usable_tiers",
    ),
)
"""Behaviours of the default suite: each asks much of several functions."""


def test_some_behaviours_of_the_default_design() -> None:
    sources = [source for source in SOURCES if source.stem in EARLY]
    assert len(sources) == len(EARLY)
    built = {source.stem: build_tool(source.stem, [source], FLAGS[source.suffix]) for source in sources}
    library = library_of(load("default"))
    assert {name: text for name, program in built.items() if (text := fault(program, library))} == {}


@pytest.mark.thorough
def test_default_design() -> None:
    expect_all(library_of(load("default")))


@pytest.mark.big
@pytest.mark.parametrize("name", builtin_names())
def test_builtin_design(name: str) -> None:
    expect_all(library_of(load(name)), but=kept_out(load(name)))


@pytest.mark.thorough
@pytest.mark.parametrize("design", soon(covering_designs(), SOON), ids=lambda design: design.name)
def test_covering_design(design: Design) -> None:
    expect_all(checked_library(design), but=kept_out(design))


@pytest.mark.thorough
def test_copies_beside_a_large_block_that_comes_or_goes() -> None:
    """A copy asks without the lock whether a run begins behind the block; 19 of 20 programs once ended there."""
    sizes = [size for size in load("hardened").sizes if size <= 256]
    preload = checked_library(changed(load("hardened"), "large", {"sizes": sizes}))
    assert {fault(programs()["thread_at_once"], preload) for _ in range(10)} == {None}


def test_memory_goes_back_beside_pages_that_are_no_mapping() -> None:
    """In a full address space the system takes no piece of a free run that reaches over pages that were unmapped."""
    assert fault(programs()["malloc_trim_after_memory_out"], library_of(load("lean"))) is None


def test_a_reset_unmaps_the_heaps_of_threads() -> None:
    """Checked builds only: a new life begins without what an earlier one made."""
    library = Loaded(checked_library(load("default")))
    pages = []
    for _ in range(60):
        thread = RealThread()
        assert thread.do(lambda: library.malloc(100))
        thread.join()
        library.reset()
        pages.append(int(Path("/proc/self/statm").read_text().split()[0]))
    assert pages[-1] - pages[10] < 50  # a heap has more than a page


@pytest.mark.big
def test_checked_build() -> None:
    expect_all(checked_library(load("default")))


@pytest.mark.big
@pytest.mark.parametrize("checked", [False, True], ids=["release", "checked"])
@pytest.mark.parametrize("design", all_designs(), ids=lambda design: design.name)
def test_every_design(design: Design, checked: bool) -> None:
    expect_all(library_of(design, checked=checked), but=kept_out(design))


def test_a_fault_is_seen(tmp_path: Path) -> None:
    """A library whose malloc hands out the same block again and again fails the suite, program by program."""
    source = tmp_path / "bad.c"
    source.write_text(
        "#include <stddef.h>\nstatic char room[1 << 20];\n"
        "void *malloc(size_t bytes) { return bytes > sizeof room ? NULL : room + 8; }\n"
        "void free(void *block) { (void)block; }\n"
        "size_t malloc_usable_size(void *block) { return block ? sizeof room / 2 : 0; }\n"
    )
    bad = build_tool("bad.so", [source], [*TOOL_FLAGS, "-shared", "-fPIC", "-fno-builtin"])
    for name in ("align_array_of_16", "blocks_disjoint", "malloc_zero_unique", "limit_malloc", "usable_small"):
        assert fault(programs()[name], bad) is not None
