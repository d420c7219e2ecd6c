"""The three ways in which a command fails, which only the command line prints, and refusals of designs as values."""

import msgspec


class HeapsmithError(Exception):
    """A failure with one clear line for the user and the exit code that names its kind."""

    exit_code = 1


class CheckFailed(HeapsmithError):
    """A check found a difference (exit code 1)."""


class BadInput(HeapsmithError):
    """Usage or input is wrong; the message names field or event and expectation (exit code 2)."""

    exit_code = 2


class WrongKind(BadInput):
    """What was given is of another kind: a program where a trace is expected, or a word that is no program."""


class Missing(HeapsmithError):
    """The environment lacks what the command needs: a tool, a permission (exit code 3)."""

    exit_code = 3


class Refusal(msgspec.Struct, frozen=True):
    """Why a design cannot be. words: for people; fields: the design's fields that the words name."""

    words: str
    fields: tuple[str, ...]

    def __str__(self) -> str:
        return self.words


MOST_OF_ERROR = 400
"""The most characters of the line of an error."""
_CUT = " ... "
MOST_OF_WORD = 200


def printable(text: str, most: int | None = None, most_of_word: int = MOST_OF_WORD) -> str:
    """Return the text on a line in UTF-8, with escapes: names of files and functions may have any bytes.

    Controls of terminals, ends of lines and marks that turn the direction of a text are no characters of a line. most:
    the most characters of the line, if it is for people. The middle of a longer line, or of a longer word, is left out.
    """
    text = text if text.isprintable() else "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    if most is None or len(text) <= min(most, most_of_word):
        return text
    return _cut(" ".join(_cut(word, most_of_word) for word in text.split(" ")), most)


def _cut(text: str, most: int) -> str:
    """Return the text, with `most` characters of its begin and end if it has more."""
    if len(text) <= most:
        return text
    begin = 2 * (most - len(_CUT)) // 3
    return f"{text[:begin]}{_CUT}{text[len(text) - (most - len(_CUT) - begin) :]}"
