"""The three ways in which a command fails; only the command line prints them and exits."""


class HeapsmithError(Exception):
    """A failure with one clear line for the user and the exit code that names its kind."""

    exit_code = 1


class CheckFailed(HeapsmithError):
    """A check found a difference (exit code 1)."""


class BadInput(HeapsmithError):
    """Usage or input is wrong; the message names field or event and expectation (exit code 2)."""

    exit_code = 2


class Missing(HeapsmithError):
    """The environment lacks what the command needs: a tool, a permission (exit code 3)."""

    exit_code = 3


def printable(text: str) -> str:
    """Return the text on a line in UTF-8, with escapes: file names may have any bytes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
