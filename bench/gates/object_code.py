"""The object code of a file's C: where a changed line leaves it as it was, no test can notice the change.

python -m heapsmith.bench.gates.object_code FILE [DESIGN]... prints a line for each design, or for the folder of a
tool's file: its name and a digest.
"""

import hashlib
import sys
from pathlib import Path

from heapsmith.codegen.build import CHECKED, COMPILE, own_flags
from heapsmith.codegen.generate import UNIT, generate
from heapsmith.codegen.layers import ABOUT_PROCESSORS, HEAP
from heapsmith.codegen.toolchain import TOOL_FLAGS, compile_c
from heapsmith.model.design.design import Design, builtin_names, load
from heapsmith.model.files import scratch

TOOLS = [*(flag for flag in TOOL_FLAGS if flag != "-g"), "-w", "-fPIC", "-D_GNU_SOURCE", "-c"]
LIBRARY = [*(flag for flag in COMPILE if flag != "-g"), *CHECKED, "-w", "-c"]
DEEP = "-DSTACK_DEPTH=8"


def of_tools(folder: Path) -> str:
    """The digest of all C of a folder, with call stacks and without."""
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.c")):
        for more in ((), (DEEP,)):
            digest.update(_compiled(source, [*TOOLS, *more], [*ABOUT_PROCESSORS]))
    return digest.hexdigest()


def of_design(design: Design) -> str:
    """The digest of a design's library with its checks."""
    with scratch() as folder:
        generate(design, folder)
        flags = [*LIBRARY, *own_flags(design), f"-ffile-prefix-map={folder}=", f"-ffile-prefix-map={HEAP}="]
        codes = [_compiled(folder / name, flags, [folder, HEAP]) for name in ("fast.c", UNIT)]
    return hashlib.sha256(b"".join(codes)).hexdigest()


def _compiled(source: Path, flags: list[str], include: list[Path]) -> bytes:
    with scratch() as folder:
        return compile_c([source], folder / "object.o", flags=flags, include=include).read_bytes()


def known_designs() -> dict[str, Design]:
    """The covering designs of the tests, and those built in."""
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests"))
    from covering import covering_designs

    return {design.name: design for design in (*covering_designs(), *map(load, builtin_names()))}


def main(file: str, *names: str) -> None:
    """Print the digests."""
    designs = known_designs() if names else {}
    for name in names:
        print(name, of_design(designs[name]), flush=True)
    if not names:
        print(Path(file).parent, of_tools(Path(file).parent))


if __name__ == "__main__":
    main(*sys.argv[1:])
