"""A judgement as all formats of continuous integration show it: tables, sentences, cases, findings."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import msgspec

from heapsmith.tools.common.tables import Words

ROOTS = ("GITHUB_WORKSPACE", "CI_PROJECT_DIR")
"""Variables by which services name the folder of the sources."""

SERVICES = ("CI", "TF_BUILD")
"""Variables that services set: almost all the first one, Azure Pipelines the second."""


class Case(msgspec.Struct, frozen=True):
    """A figure that is judged. why_not: why it is not gated; such a case neither passes nor fails.

    message: what is said of the figure beside its name.
    """

    name: str
    ok: bool
    message: str
    why_not: str = ""


class Finding(msgspec.Struct, frozen=True):
    """What is wrong, at a line of a file below the root. message: without the name of the rule, which stands beside."""

    rule: str
    message: str
    file: str
    line: int


class Verdict(msgspec.Struct, frozen=True):
    """The judgement of a command. name: `heapsmith check`; subject: what was judged; seconds: how long that took."""

    name: str
    subject: str
    ok: bool
    tables: list[Words]
    sentences: list[str]
    cases: list[Case]
    findings: list[Finding]
    seconds: float = 0.0

    @property
    def state(self) -> Literal["ok", "NOT ok"]:
        """The verdict in a word or two."""
        return "ok" if self.ok else "NOT ok"


def root_of(folder: Path, environment: Mapping[str, str] = os.environ) -> Path:
    """The folder of the sources: as a service names it, else the work tree of git around `folder`, else `folder`."""
    folder = folder.resolve()
    named = (Path(environment[name]).resolve() for name in ROOTS if environment.get(name))
    around = (one for one in (folder, *folder.parents) if (one / ".git").exists())
    return next((one for one in (*named, *around) if folder.is_relative_to(one)), folder)


def service(environment: Mapping[str, str] = os.environ) -> str:
    """The variable by which a service of continuous integration says that it runs this process, or ""."""
    return next((one for one in SERVICES if environment.get(one, "").lower() not in ("", "0", "false")), "")


def below(root: Path, file: str) -> str:
    """The path of a file as seen from the root, or "" for a file elsewhere."""
    path = Path(os.path.normpath(root / file)) if file else root
    return path.relative_to(root).as_posix() if path != root and path.is_relative_to(root) else ""
