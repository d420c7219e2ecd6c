"""JUnit's XML, which most services show: a test case for each figure."""

from xml.etree import ElementTree

from heapsmith.model.errors import printable
from heapsmith.tools.ci.verdict import Verdict


def junit(found: Verdict) -> str:
    """A suite of the figures; those that are not gated are skipped cases. A figure takes no time of its own."""
    failed = sum(not case.ok for case in found.cases)
    skipped = sum(case.ok and bool(case.why_not) for case in found.cases)
    counts = {"tests": len(found.cases), "failures": failed, "errors": 0, "skipped": skipped}
    time = {"time": f"{found.seconds:.3f}"}
    top = ElementTree.Element("testsuites", {name: str(count) for name, count in counts.items()} | time)
    suite = ElementTree.SubElement(top, "testsuite", {"name": found.name, **top.attrib})
    for case in found.cases:
        of = {"classname": printable(f"{found.name} {found.subject}"), "name": printable(case.name)}
        row = ElementTree.SubElement(suite, "testcase", of)
        if not case.ok:
            places = [f"{one.file}:{one.line}: {one.message}" for one in found.findings if one.rule == case.name]
            failure = ElementTree.SubElement(row, "failure", {"message": printable(case.message), "type": "grown"})
            failure.text = "\n".join(map(printable, places or [case.message]))
        elif case.why_not:
            ElementTree.SubElement(row, "skipped", {"message": printable(case.why_not)})
        else:
            ElementTree.SubElement(row, "system-out").text = printable(case.message)
    ElementTree.indent(top)
    return ElementTree.tostring(top, "unicode", xml_declaration=True) + "\n"
