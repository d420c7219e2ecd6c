"""The C programs of micro/ and the ceilings of ceilings/, compiled once into the cache."""

from pathlib import Path

import msgspec

from heapsmith.codegen.layers import ABOUT_PROCESSORS, RUNTIME
from heapsmith.codegen.toolchain import TOOL_FLAGS, build_tool
from heapsmith.model.errors import CheckFailed
from heapsmith.tools.common.call_times import Stamped
from heapsmith.tools.compare.measure import Run
from heapsmith.tools.peers.peers import Library

HERE = Path(__file__).resolve().parent
MICRO_FOLDER = HERE / "micro"
STAMPS = RUNTIME / "replay"
"""The folder of latency.h, which the programs' stamps use."""
SHARED = (MICRO_FOLDER / "micro.c", MICRO_FOLDER / "stamps.c", STAMPS / "latency.c")
"""Sources of every program."""
PROGRAM_FLAGS = (*TOOL_FLAGS, "-fno-builtin", "-pthread")
"""-fno-builtin: otherwise GCC removes pairs of malloc and free."""
SEED = 2463534242
"""The random seed of measurements: the example of Marsaglia, "Xorshift RNGs"."""
TRAINING_SEED = 88172645
"""The random seed of recordings to tune for."""
CEILING_FLAGS = (*TOOL_FLAGS, "-fno-builtin", "-shared", "-fPIC", "-ftls-model=initial-exec")


class Took(msgspec.Struct, frozen=True):
    """A program's report of its own loop, without loading, tables and exit (`micro/micro.c`).

    end_rss_bytes: resident a quiet second after all was freed, where the program waits for that.
    peak_rss_bytes: of the process that the row is about, where the program says it. malloc_ns,
    free_ns: of the stamped form.
    """

    operations: int
    wall_ns: int
    cpu_ns: int
    end_rss_bytes: int | None = None
    peak_rss_bytes: int | None = None
    malloc_ns: Stamped | None = None
    free_ns: Stamped | None = None


def program(
    name: str, *, dry: bool = False, stamped: bool = False, seed: int = SEED, compiler: str | None = None
) -> Path:
    """`micro/<name>.c`, built; `dry`: the loop without malloc and free; `seed`: any 32 bits but 0.

    `stamped`: with the time of single calls (`micro/stamps.h`). compiler: in place of gcc. Raises what build_tool
    raises.
    """
    form = "-dry" if dry else "-stamped" if stamped else ""
    flags = [*PROGRAM_FLAGS, f"-DDRY={int(dry)}", f"-DSTAMP={int(stamped)}", f"-DSEED={seed}"]
    sources, include = [MICRO_FOLDER / f"{name}.c", *SHARED], [STAMPS, *ABOUT_PROCESSORS]
    return build_tool(f"{name}{form}", sources, flags, include=include, compiler=compiler)


def ceiling(name: str) -> Library:
    """`ceilings/<name>.c` as a library to preload. Raises what build_tool raises."""
    return Library(name, build_tool(f"lib{name}.so", [HERE / "ceilings" / f"{name}.c"], CEILING_FLAGS))


def took(run: Run) -> Took:
    """The program's own report of a run; CheckFailed if there is none."""
    try:
        return msgspec.json.decode(run.errors.splitlines()[-1] if run.errors else "", type=Took)
    except msgspec.MsgspecError:
        raise CheckFailed(f"no report of what it took: {run.errors.strip() or 'nothing'} on standard error") from None
