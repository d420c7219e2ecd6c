"""The reference site: the pages of docs/ and the reference of the Python interface (`make site`)."""

import os

import heapsmith

project = "heapsmith"
release = version = heapsmith.__version__
extensions = ["myst_nb", "sphinx.ext.autodoc"]
html_theme = "furo"
html_extra_path = ["../src/heapsmith/llms.txt"]
html_title = f"heapsmith {release}"
smartquotes = False
default_role = "literal"  # docstrings have `names` in single backticks

myst_heading_anchors = 4  # headings get the names that code hosts give them
nb_execution_mode = os.environ.get("NOTEBOOK", "off")  # "force": run the notebook, and show what it prints
nb_execution_timeout = -1  # none
nb_execution_raise_on_error = True

autodoc_member_order = "bysource"
autodoc_default_options = {"members": True, "show-inheritance": True}
