"""`python -m heapsmith`: the same command line as the `heapsmith` script."""

from heapsmith.cli import main

if __name__ == "__main__":
    main()
