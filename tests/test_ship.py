"""What `generate` writes compiles by itself, with any compiler and no flags, and is the model's heap."""

import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from test_cli import Call
from traces import random_trace

from heapsmith.codegen.ship import folder_of, ship, single_of
from heapsmith.codegen.verify import verify
from heapsmith.model.design.design import builtin_names, load
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.preload import preloadable

SOME = ("default", "hardened", "processor")
COMPILERS = [name for name in ("gcc", "clang") if shutil.which(name)]
PERL = ["perl", "-e", 'my %h = map { $_ => "x" x ($_ % 500) } 1 .. 20_000; print length join "", %h']


FIRST = [("default", True, "gcc"), ("default", False, "clang")]


def forms() -> Iterator[Any]:
    """Each design in each form under each compiler: FIRST always, SOME in `make thorough`, the others at length."""
    for name, single, compiler in product(builtin_names(), (False, True), COMPILERS):
        form = (name, single, compiler)
        marks = [] if form in FIRST else [pytest.mark.thorough if name in SOME else pytest.mark.big]
        yield pytest.param(*form, marks=marks, id=f"{name}-{'single' if single else 'folder'}-{compiler}")


def compiled(folder: Path, compiler: str, *words: str) -> Path:
    """The library of a folder, by the words of its README, where nothing else is."""
    library = folder / f"lib{compiler}.so"
    command = [compiler, "-O2", "-shared", "-fPIC", "-o", library.name, *(words or ("heap.c",))]
    bare = {"PATH": os.environ["PATH"]}
    done = subprocess.run(command, cwd=folder, env=bare, check=False, capture_output=True, text=True)
    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    return library


@pytest.mark.thorough
@pytest.mark.parametrize(("name", "single", "compiler"), list(forms()))
def test_it_compiles_by_itself_and_is_the_models_heap(name: str, single: bool, compiler: str, tmp_path: Path) -> None:
    folder = tmp_path / "with space"
    design = load(name)
    found = ship(design, folder, single_of if single else folder_of)
    assert sorted(found.files) == sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    library = compiled(folder, compiler)
    trace = random_trace(tmp_path / "t.hst", 3000, 3, max_size=200_000)
    report = verify(design, [trace], audit=False, release=library)
    assert report.ok, report.runs
    if design.foreign != "trust":
        bare = {"PATH": os.environ["PATH"]}
        plain, under = (
            subprocess.run(PERL, check=True, capture_output=True, env=bare | more).stdout
            for more in ({}, {"LD_PRELOAD": preloadable(library)})
        )
        assert under == plain


@pytest.mark.thorough
def test_make_builds_what_build_builds(tmp_path: Path, call: Call) -> None:
    """The units, the flags and the linker script are those of `heapsmith build`."""
    ship(load("default"), tmp_path)
    done = subprocess.run(["make"], cwd=tmp_path, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "libheap.so"
    assert call("build", "default", "-o", other).status == 0
    assert code(tmp_path / "libheap.so") == code(other)


def code(library: Path) -> list[str]:
    """The functions of a library, with the bytes of each."""
    shown = subprocess.run(["nm", "-S", library], check=True, capture_output=True, text=True).stdout
    return sorted(f"{line[3]} {line[1]}" for line in map(str.split, shown.splitlines()) if line[2:3] in (["t"], ["T"]))


@pytest.mark.thorough
@pytest.mark.parametrize("of", [folder_of, single_of])
def test_all_words_are_true(of: Callable[..., dict[str, bytes]]) -> None:
    """Each file says on its first line what is in it; nothing is included that is not there; no path is a machine's."""
    for name in ("default", "owner", "lean"):
        files = {name: text.decode() for name, text in of(load(name)).items()}
        for file, text in files.items():
            assert str(Path.home()) not in text
            if file.endswith((".c", ".h")):
                assert re.match(r"/\* \S", text), file
            for included in re.findall(r'^#include "(.*?)"', text, re.MULTILINE):
                assert os.path.normpath(os.path.join(os.path.dirname(file), included)) in files, (file, included)
    assert single_of(load("lean")).keys() == {"heap.c", "heapsmith.h"}


def test_readme_is_one_screen_and_its_files_are_there() -> None:
    files = folder_of(load("default"))
    readme = files["README.md"].decode()
    assert readme.count("\n") < 45
    named = re.findall(r"`([\w.]+\.[ch]|design\.toml|runtime/)`", readme)
    assert len(named) > 6
    assert all(name in files or any(file.startswith(name) for file in files) for name in named)
    assert "Permission is hereby granted" in files["LICENSE"].decode()
    assert files["Makefile"].decode().count("\n") <= 3


@pytest.mark.thorough
def test_a_changed_file_is_named(tmp_path: Path) -> None:
    design = load("lean")
    for single, file in ((False, "runtime/9_api/api.c"), (True, "heap.c")):
        folder = tmp_path / str(single)
        ship(design, folder, single_of if single else folder_of)
        ship(design, folder, single_of if single else folder_of, check=True)
        (folder / file).write_text("changed")
        with pytest.raises(CheckFailed, match=f"{file}: differs"):
            ship(design, folder, single_of if single else folder_of, check=True)
