"""Markdown: the summary of a job, and the text of a comment on a pull request."""

from heapsmith.model.errors import printable
from heapsmith.tools.ci.verdict import Verdict
from heapsmith.tools.common.tables import cell, code, section


def markdown(found: Verdict) -> str:
    """The tables and sentences. The first line is a mark by which a script finds its comment again."""
    lines = [f"<!-- {found.name} -->", f"# {found.name}: {found.state}", "", code(printable(found.subject, 2_000))]
    lines += [""] if found.findings else []
    for finding in found.findings:
        place = code(printable(f"{finding.file}:{finding.line}"))
        lines.append(f"- **{text(finding.rule)}** {text(finding.message)} ({place})")
    for sentence in found.sentences:
        lines += ["", text(sentence)]
    for table in found.tables:
        lines += section(table)
    return "\n".join(lines) + "\n"


def text(words: str) -> str:
    """A sentence that begins nothing else of Markdown."""
    return cell(printable(words))
