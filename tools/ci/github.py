"""Commands of GitHub's runner: annotations at lines of files."""

import os

from heapsmith.model.errors import printable
from heapsmith.tools.ci.markdown import markdown
from heapsmith.tools.ci.verdict import Verdict

MOST = 10
"""Errors that GitHub shows of a step."""


def github(found: Verdict) -> str:
    """An error for each finding, and a notice of the verdict; a warning where nothing was compared."""
    lines = [
        f"::error file={_value(one.file)},line={one.line},title={_value(f'{found.name}: {one.rule}')}"
        f"::{_data(one.message)}"
        for one in found.findings[:MOST]
    ]
    more = len(found.findings) - len(lines)
    said = f"{found.state}: {found.subject}" + (f"; {more} findings more" if more else "")
    kind = "notice" if found.cases else "warning"
    said = "; ".join([said, *([] if found.cases else found.sentences)])
    return "\n".join([*lines, f"::{kind} title={_value(found.name)}::{_data(said)}"]) + "\n"


def _data(text: str) -> str:
    return printable(text).replace("%", "%25")


def _value(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def add_to_summary(verdict: Verdict) -> None:
    """Append the judgement, in Markdown, to the summary of the job, where this is a step of one."""
    if summary := os.environ.get("GITHUB_STEP_SUMMARY"):
        with open(summary, "a", encoding="utf-8") as page:
            page.write(markdown(verdict))
