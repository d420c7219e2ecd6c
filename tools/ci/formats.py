"""The table of formats in which a judgement is written (docs/ci.md)."""

from collections.abc import Callable

from heapsmith.tools.ci.github import github
from heapsmith.tools.ci.gitlab import gitlab
from heapsmith.tools.ci.junit import junit
from heapsmith.tools.ci.markdown import markdown
from heapsmith.tools.ci.sarif import sarif
from heapsmith.tools.ci.verdict import Verdict

FORMATS: dict[str, Callable[[Verdict], str]] = {one.__name__: one for one in (markdown, junit, sarif, github, gitlab)}
