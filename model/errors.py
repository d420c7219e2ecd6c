"""The three ways a command can fail; only the command line prints them and exits."""


class HeapsmithError(Exception):
    """A failure with one clear line for the user and the exit code that names its kind."""

    exit_code = 1


class CheckFailed(HeapsmithError):
    """A check ran and found a difference (exit code 1)."""

    exit_code = 1


class BadInput(HeapsmithError):
    """Usage or input is wrong: the message names the file, field or event and what was expected (exit code 2)."""

    exit_code = 2


class Missing(HeapsmithError):
    """The environment lacks something the command needs: a compiler, a tool, a permission (exit code 3)."""

    exit_code = 3


def printable(text: str) -> str:
    """The text on one line that UTF-8 holds: the names of files may have any bytes, which it escapes."""
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
