"""The reference site: the pages of docs/ and the reference of the Python interface (`make site`)."""

import os
import re
from pathlib import Path

import heapsmith

project = "heapsmith"
release = version = heapsmith.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx_copybutton"]
html_theme = "furo"
html_extra_path = ["../src/heapsmith/llms.txt"]
html_title = f"heapsmith {release}"

PARTS = {
    "paper": ("background-primary", "code-background"),
    "card": ("background-secondary",),
    "ink": ("foreground-primary",),
    "faint": ("foreground-secondary", "foreground-muted"),
    "rule": ("background-border",),
    "c0": ("brand-primary", "brand-content"),
}
"""The colours of the theme by the colours of the report, so that site and report look alike."""


def colours(style: str, dark: bool) -> dict[str, str]:
    """The theme's colours, as the report's style has them for light or for dark screens."""
    start = style.index("prefers-color-scheme: dark") if dark else 0
    return {
        f"color-{part}": value
        for name, value in re.findall(r"--(\w+): (#\w+);", style[start : style.index("}", start)])
        for part in PARTS.get(name, ())
    }


_style = (Path(heapsmith.__file__).parent / "tools/page/page.css").read_text()
html_theme_options = {"light_css_variables": colours(_style, False), "dark_css_variables": colours(_style, True)}
smartquotes = False
default_role = "literal"  # docstrings have `names` in single backticks

myst_heading_anchors = 4  # headings get the names that code hosts give them
nb_execution_mode = os.environ.get("NOTEBOOK", "off")  # "force": run the notebook, and show what it prints
nb_execution_timeout = -1  # none
nb_execution_raise_on_error = True

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
