"""generated/: the C of some designs, without the runtime's, to read.

python -m heapsmith.codegen.committed [--check] DESIGN... writes it, or compares it. A design is a built-in one, or the
design.toml of its folder, which keeps what `tune` wrote about its choices.
"""

import sys
from pathlib import Path

from heapsmith.codegen.generate import contents, written
from heapsmith.model.design.design import load
from heapsmith.model.errors import CheckFailed

FOLDER = Path(__file__).resolve().parent.parent / "generated"


def main(words: list[str]) -> int:
    """Write the folders of the named designs, or compare them; the status is 1 if a file differs."""
    names = [word for word in words if word != "--check"]
    try:
        for name in names:
            design = load(name)
            files = {file: content for file, content in contents(design).items() if not name.endswith(f"/{file}")}
            written(design, files, FOLDER / design.name, check=len(names) < len(words))
    except CheckFailed as error:
        sys.stderr.write(f"{error} (make generated)\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
