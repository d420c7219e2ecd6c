"""GitLab's report of code quality: an issue for each finding."""

from heapsmith.model.errors import printable
from heapsmith.model.files import json_text
from heapsmith.tools.ci.sarif import identity
from heapsmith.tools.ci.verdict import Verdict


def gitlab(found: Verdict) -> str:
    """A list of issues, empty if all is well."""
    return (
        json_text(
            [
                {
                    "description": printable(f"{one.rule}: {one.message}"),
                    "check_name": f"{found.name}: {one.rule}",
                    "fingerprint": identity(found, one),
                    "severity": "major",
                    "location": {"path": one.file, "lines": {"begin": one.line}},
                }
                for one in found.findings
            ]
        )
        + "\n"
    )
