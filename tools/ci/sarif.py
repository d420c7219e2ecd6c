"""SARIF 2.1.0, which code scanning takes: a result for each finding, none if all is well."""

from hashlib import sha256
from typing import Any
from urllib.parse import quote

from heapsmith.model.errors import printable
from heapsmith.model.files import json_text
from heapsmith.tools.ci.verdict import Finding, Verdict

SCHEMA = "https://raw.githubusercontent.com/oasis-tcs/sarif-spec/main/sarif-2.1/schema/sarif-schema-2.1.0.json"
SOURCES = "%SRCROOT%"
"""What SARIF calls the folder of the sources."""


def identity(found: Verdict, finding: Finding) -> str:
    """What makes a finding the same in the next run: no figure, and no line, which moves."""
    parts = (found.name, finding.rule, finding.file, found.subject)
    return sha256("\0".join(map(printable, parts)).encode()).hexdigest()


def sarif(found: Verdict) -> str:
    """A log of one run."""
    rules = sorted({case.name for case in found.cases} | {one.rule for one in found.findings})
    driver = {
        "name": "heapsmith",
        "rules": [{"id": _id(one), "shortDescription": {"text": printable(one)}} for one in rules],
    }
    results = [_result(found, one, rules.index(one.rule)) for one in found.findings]
    run = {"tool": {"driver": driver}, "automationDetails": {"id": f"{_id(found.name)}/"}, "results": results}
    return json_text({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]}) + "\n"


def _id(rule: str) -> str:
    return printable(rule).replace(" ", "-")


def _result(found: Verdict, finding: Finding, rule: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(finding.file), "uriBaseId": SOURCES},
        "region": {"startLine": finding.line},
    }
    return {
        "ruleId": _id(finding.rule),
        "ruleIndex": rule,
        "level": "error",
        "message": {"text": printable(finding.message)},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"heapsmith/v1": identity(found, finding)},
    }
