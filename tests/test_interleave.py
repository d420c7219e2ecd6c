"""Lock-free parts and locks, checked over every interleaving and every stale read: tests/interleave/explore.h says how."""

import json
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

import pytest

from heapsmith.codegen.generate import RUNTIME, render
from heapsmith.codegen.toolchain import find_gcc
from heapsmith.model.design import load
from heapsmith.model.plan import make_plan

HERE = Path(__file__).resolve().parent / "interleave"
EXPLORER = ("explore.c", "memory.c", "hooks.c")
PROGRAMS = {
    "litmus": ("litmus.c",),
    "lock": ("lock_cases.c", "lock.c"),
    "list": ("list_cases.c", "lock.c", "remote/owner_list.c", "classifier/slab_map.c"),
    "life": ("life_cases.c", "lock.c"),
    "peak": ("peak_cases.c", "inspect.c"),
}
"""The sources under exploration; of `tests/interleave`, or else of the runtime."""

BOUNDS = {"lock.c": ("LOCK_SPINS = 100", "LOCK_SPINS = 1"), "thread.c": ("PATIENCE = 1000", "PATIENCE = 2")}
"""Loops that only bide time, cut short: each of their rounds does the same."""

FLAGS = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-fno-stack-protector")
EXPLORED = (*FLAGS, "-fsanitize=thread", "-ffunction-sections", "-fdata-sections", "-include", "interpose.h")
LINK = ("-Wl,--gc-sections",)


class Mutant(NamedTuple):
    """A mistake: in `file`, `old` (found once) becomes `new`; `case` must fail with `words`."""

    program: str
    case: str
    file: str
    old: str
    new: str
    words: str


class Workshop:
    """Objects of the explorer and of the sources, compiled once; programs of changed sources beside them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.gcc = find_gcc().path
        self.sources = folder / "sources"
        shutil.copytree(RUNTIME, self.sources, ignore=shutil.ignore_patterns("recorder", "replay", "verify", "__*"))
        shutil.copytree(HERE, self.sources, dirs_exist_ok=True)
        (self.sources / "plan.h").write_text(render(make_plan(load("owner")))["plan.h"])
        for file, (old, new) in BOUNDS.items():
            self.change(file, old, new)
        self.compile(FLAGS, EXPLORER, self.sources)

    def change(self, file: str, old: str, new: str, root: Path | None = None) -> None:
        path = (root or self.sources) / file
        text = path.read_text()
        assert text.count(old) == 1, f"{file}: {old!r} stands there {text.count(old)} times"
        path.write_text(text.replace(old, new))

    def compile(self, flags: tuple[str, ...], names: tuple[str, ...], root: Path) -> None:
        for name in names:
            command = [self.gcc, *flags, "-I.", f"-I{root}", "-c", name, "-o", f"{name}.o"]
            done = subprocess.run(command, cwd=root, capture_output=True, text=True)
            assert done.returncode == 0, done.stderr

    def program(self, name: str) -> Path:
        out = self.folder / name
        if not out.exists():
            self.link(name, self.sources, out)
        return out

    def mutant(self, mutant: Mutant) -> Path:
        root = self.folder / "mutant"
        shutil.rmtree(root, ignore_errors=True)
        shutil.copytree(self.sources, root)
        self.change(mutant.file, mutant.old, mutant.new, root)
        self.link(mutant.program, root, root / "program")
        return root / "program"

    def link(self, name: str, root: Path, out: Path) -> None:
        self.compile(EXPLORED, PROGRAMS[name], root)
        objects = [str(root / f"{file}.o") for file in (*PROGRAMS[name], *EXPLORER)]
        done = subprocess.run([self.gcc, *LINK, *objects, "-o", out], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr


class Found(NamedTuple):
    """What an exploration says: `executions` is -1 where loops make them countless."""

    states: int
    transitions: int
    executions: int
    loops: int
    outcomes: list[int]


def explore(program: Path, case: str) -> Found:
    done = subprocess.run([program, case], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return Found(**json.loads(done.stdout))


@pytest.fixture(scope="module")
def workshop(tmp_path_factory: pytest.TempPathFactory) -> Workshop:
    return Workshop(tmp_path_factory.mktemp("interleave"))
