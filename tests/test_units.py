"""Parts of the heap's C alone, each in a program of its own: what no program with a whole heap reaches, or sees."""

import subprocess
from pathlib import Path

from heapsmith.codegen.layers import ABOUT_PROCESSORS
from heapsmith.codegen.toolchain import compile_c

HERE = Path(__file__).parent


def test_the_table_of_huge_blocks_agrees_with_a_list(tmp_path: Path) -> None:
    """It is half full at most, its memory is one table, and it goes on without more memory until it is full."""
    folders = [HERE.parent / "generated/default", *ABOUT_PROCESSORS]
    compile_c([HERE / "programs/huge_table.c"], tmp_path / "table", flags=("-O1", "-w"), include=folders)
    done = subprocess.run([tmp_path / "table"], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == [
        "7 to 10",
        "256 slots, 255 entries without more memory",
        "8192 slots, 2983 entries",
    ]
    assert done.returncode == 0
