"""The begin of a command of the laboratory: `python -m heapsmith.bench`."""

from heapsmith.__main__ import begin
from heapsmith.bench.common.command import PROGRAM


def main() -> None:
    """Run the laboratory's command line and exit, as the user's does."""
    begin("heapsmith.bench.commands.app", PROGRAM)


if __name__ == "__main__":
    main()
