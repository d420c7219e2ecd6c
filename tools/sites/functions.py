"""Names of functions as people say them, and the rule that says which functions allocate for their caller."""

import re
from functools import cache

_NAMED = r"(?i:(?:\w+::)*\w*(?:(?:m|c|z|re|mem)alloc\w*|alloc_?\d*))"
_LIBC = r"operator new(?:\[\])?|(?:__GI_)?_*(?:strn?dup|wcsdup|v?asprintf|getline|getdelim|aligned_alloc)(?:_chk)?"
_PYTHON = r"_?PyObject_(?:GC_)?New(?:Var)?|_PyType_AllocNoTrack"
_CPP = r"(?:std|__gnu_cxx)::.*"
_RUST = r"(?:alloc|core|std|hashbrown)::.*|<[&*\[( ]*(?:mut |const )?(?:\w+ as )?(?:alloc|core|std|hashbrown)::.*"
WRAPPERS = re.compile(rf"{_NAMED}|{_LIBC}|{_PYTHON}|{_CPP}|{_RUST}|__r(?:ust|dl|g)_\w+")
"""Functions that are no site, by their plain names: docs/report.md says which."""

FREERS = re.compile(rf"operator delete(?:\[\])?|(?i:(?:\w+::)*\w*free\w*)|{_CPP}|{_RUST}|__r(?:ust|dl|g)_\w+")
"""Functions that free for their caller, by their plain names."""

_RUST_HASH = re.compile(r"::h[0-9a-f]{16}$|\[[0-9a-f]{8,16}\]")
_CONST = re.compile(r"\bconst(?=::|$)")
_COPY = re.compile(r"\.(?:part|isra|constprop|cold|lto_priv|llvm)\b[.\d]*|\[[^\]]*\]")
_OPERATOR = re.compile(r"operator(?: (?=\w)|\(\)|\[\]|->\*?|[<>]=?>?=?)(?:(?:new|delete)\[\])?|->")
_INSIDE = re.compile(r"<[^<>]*>|\([^()]*\)")
_HIDDEN = 0xE000  # private characters stand for those of operators while brackets are removed


@cache
def plain(function: str) -> str:
    """A function's name without its return type, its arguments, those of templates, and marks of the compiler."""
    text = _RUST_HASH.sub("", function).replace("(anonymous namespace)", "{anonymous}")
    if text.startswith("<"):  # <T as Trait>::f of Rust
        return text
    text = _OPERATOR.sub(lambda found: "".join(chr(_HIDDEN + ord(one)) for one in found[0]), text)
    text, before = _COPY.sub("", text), ""
    while text != before:
        text, before = _INSIDE.sub("", text), text
    words = [word for word in _CONST.sub("", text).replace(" ::", "::").split() if word not in ("const", "&", "&&")]
    shown = words[-1] if words else function
    return "".join(chr(ord(one) - _HIDDEN) if 0 <= ord(one) - _HIDDEN < 128 else one for one in shown)
