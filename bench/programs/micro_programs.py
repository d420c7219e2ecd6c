"""The C programs of micro/ and the ceilings of ceilings/, compiled once into the cache."""

from pathlib import Path

import msgspec

from heapsmith.bench.peers.peers import Library
from heapsmith.bench.programs.measure import Run
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.errors import CheckFailed

HERE = Path(__file__).resolve().parent
MICRO_FOLDER = HERE / "micro"
PROGRAM_FLAGS = (*TOOL_FLAGS, "-fno-builtin", "-pthread")
"""-fno-builtin: otherwise GCC removes pairs of malloc and free."""
SEED = 2463534242
"""The random seed of measurements: the example of Marsaglia, "Xorshift RNGs"."""
TRAINING_SEED = 88172645
"""The random seed of recordings to tune for."""
CEILING_FLAGS = (*TOOL_FLAGS, "-fno-builtin", "-shared", "-fPIC", "-ftls-model=initial-exec")


class Took(msgspec.Struct, frozen=True):
    """A program's report of its own loop, without loading, tables and exit (`micro/micro.c`)."""

    operations: int
    wall_ns: int
    cpu_ns: int


def program(name: str, *, dry: bool = False, seed: int = SEED) -> Path:
    """`micro/<name>.c`, built; `dry`: the loop without malloc and free; `seed`: any 32 bits but 0.

    Raises what build_tool raises.
    """
    sources = [MICRO_FOLDER / f"{name}.c", MICRO_FOLDER / "micro.c"]
    flags = [*PROGRAM_FLAGS, f"-DDRY={int(dry)}", f"-DSEED={seed}"]
    return build_tool(f"{name}-dry" if dry else name, sources, flags)


def ceiling(name: str) -> Library:
    """`ceilings/<name>.c` as a library to preload. Raises what build_tool raises."""
    return Library(name, build_tool(f"lib{name}.so", [HERE / "ceilings" / f"{name}.c"], CEILING_FLAGS))


def took(run: Run) -> Took:
    """The program's own report of a run; CheckFailed if there is none."""
    try:
        return msgspec.json.decode(run.errors.splitlines()[-1] if run.errors else "", type=Took)
    except msgspec.MsgspecError:
        raise CheckFailed(f"no report of what it took: {run.errors.strip() or 'nothing'} on standard error") from None
