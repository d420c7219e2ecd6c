"""The marker `heapsmith` of pytest: the test runs in a recorded child process and keeps its limits (docs/ci.md).

Without a marked test the plugin looks at the markers once, when tests are collected, and imports nothing.
"""

from __future__ import annotations

import os

import pytest

MARKER = "heapsmith"
CHILD = "HEAPSMITH_PYTEST_CHILD"
"""The variable by which a parent asks its child: as JSON."""


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker; in the child, run what the parent asks for."""
    config.addinivalue_line(
        "markers",
        f"{MARKER}(max_peak=None, max_allocations=None, no_leaks=False): run the test in a recorded child process and "
        "fail if the live bytes that it asked for exceed max_peak ('10M'), its allocations max_allocations, or if "
        "each run of it leaves blocks behind (no_leaks=True, or the bytes that a function may leave)",
    )
    if asked := os.environ.pop(CHILD, ""):
        from heapsmith.tools.ci.pytest_child import child_of

        config.pluginmanager.register(child_of(asked), "heapsmith-child")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Look for marked tests, with the markers that conftest files have added, and check their limits."""
    if config.pluginmanager.has_plugin("heapsmith-child"):
        return
    marked = [item for item in items if item.get_closest_marker(MARKER)]
    if marked:
        from heapsmith.tools.ci.pytest_parent import Judge, limits_of

        for item in marked:
            limits_of(item)
        config.pluginmanager.register(Judge(), "heapsmith-judge")
