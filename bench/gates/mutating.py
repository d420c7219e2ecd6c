"""Mutants: C with one line changed or one statement deleted; whatever watches the C must notice each of them."""

import re
from collections.abc import Iterator
from typing import NamedTuple

TOKEN = re.compile(
    r"\s+|/\*.*?\*/|/\*.*$|//.*$|\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'"
    r"|[A-Za-z_]\w*|0[xX][0-9A-Fa-f]+[uUlL]*|\d+[uUlL]*"
    r"|->|<<=|>>=|\+\+|--|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%&|^]=|."
)

INSTEAD = {
    "<": ("<=",),
    "<=": ("<",),
    ">": (">=",),
    ">=": (">",),
    "==": ("!=",),
    "!=": ("==",),
    "&&": ("||",),
    "||": ("&&",),
    "+": ("-",),
    "-": ("+",),
    "*": ("+",),
    "/": ("*",),
    "%": ("/",),
    "<<": (">>",),
    ">>": ("<<",),
    "&": ("|",),
    "|": ("&",),
    "+=": ("-=",),
    "-=": ("+=",),
    "|=": ("&=",),
    "&=": ("|=",),
    "++": ("--",),
    "--": ("++",),
    "true": ("false",),
    "false": ("true",),
    "NULL": ("(void *)8",),
    "break": ("continue",),
}
"""What stands where a token stood; `+ - * / % & | < >` only between spaces, where they have two operands."""

BINARY = frozenset("+-*/%&|<>")
NOTHING = frozenset(("0", "NULL", "true", "false"))
DECLARES = re.compile(
    r"(?:static|extern|const|struct|enum|typedef|unsigned|bool|void|char|int|size_t|u?int\d+_t|u?intptr_t|pid_t)\b"
)


class Mutant(NamedTuple):
    """One changed line: the file, the line's number from 1, the function it is in ("" outside), and both its forms."""

    file: str
    line: int
    function: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.before.strip()}  =>  {self.after.strip() or '(deleted)'}"

    def apply(self, text: str) -> str:
        """The file's text with this line changed."""
        lines = text.split("\n")
        assert lines[self.line - 1] == self.before, f"{self} is of another text"
        lines[self.line - 1] = self.after
        return "\n".join(lines)


def mutants(file: str, text: str) -> Iterator[Mutant]:
    """Every mutant of a C file written in the house's style: a function begins at the margin, its body does not."""
    function = ""
    comment = False
    for number, line in enumerate(text.split("\n"), 1):
        if comment or line.lstrip().startswith(("/*", "* ", "#")):
            comment = (comment or "/*" in line) and "*/" not in line
            continue
        if line[:1].isalpha() or line.startswith("__attribute__"):
            named = re.search(r"(\w+)\([^;]*$", re.sub(r"__attribute__\(\(.*?\)\)", "", line))
            function = named[1] if named else ""
        elif line.startswith(("}", "{")):
            function = function if line.startswith("{") else ""
            continue
        for after in _changes(line):
            yield Mutant(file, number, function, line, after)


def _changes(line: str) -> Iterator[str]:
    """The line without its statement, and with each of its tokens changed.

    An assertion (check) is only turned round: what it asserts is no behaviour, but it must be looked at. A call of a
    function of assertions (check_...) stays. Of a line of a table only the first number is changed.
    """
    indent = line[: len(line) - len(line.lstrip())]
    statement = re.sub(r"\s*/\*.*?\*/\s*$", "", line.strip())
    if re.match(r"_Static_assert|\(void\)|check_\w+\(", statement):
        return
    if found := re.fullmatch(r"check\((.*), (\".*\")\);", statement):
        yield f"{indent}check(!({found[1]}), {found[2]});"
        return
    if re.fullmatch(r"[\d, ]+", statement):
        yield re.sub(r"\d+", lambda number: str(int(number[0]) + 1), line, count=1)
        return
    if indent and statement.endswith(";") and not DECLARES.match(statement) and statement[:6] != "return":
        yield f"{indent};"
    if (found := re.fullmatch(r"(\s*)(if|while) \((.*)\)( \{|)(\s*/\*.*\*/)?", line)) and " == " not in line:
        yield f"{found[1]}{found[2]} (!({found[3]})){found[4]}"
    if (found := re.fullmatch(r"(\s*)return (.+);", line)) and found[2] not in NOTHING:
        yield f"{found[1]}return 0;"
    for match in TOKEN.finditer(line):
        token, begin, end = match[0], match.start(), match.end()
        if token in BINARY and not (line[begin - 1 : begin] == " " and line[end : end + 1] == " "):
            continue
        for other in (*INSTEAD.get(token, ()), *_other_numbers(token)):
            yield line[:begin] + other + line[end:]


def _other_numbers(token: str) -> tuple[str, ...]:
    found = re.fullmatch(r"(\d+)([uUlL]*)", token)
    return (f"{int(found[1]) + 1}{found[2]}",) if found else ()
