"""Renders a page as one file that needs no network: a template with its style, its scripts and their data."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import jinja2
import markupsafe

from heapsmith.model.errors import printable


def sheet(
    template: str, scripts: Sequence[str], data: str, title: str, words: Callable[..., Any] | None = None, **values: Any
) -> str:
    """Return the page. scripts: names of files, in their order; words: makes a table in the template's HTML."""
    here = files(__package__)
    loader = jinja2.FunctionLoader(lambda name: (here / name).read_text())
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, loader=loader)
    environment.globals["words"] = words
    script = "\n".join((here / f"{name}.js").read_text() for name in scripts)
    return environment.get_template(template).render(
        title=printable(title),
        version=version("heapsmith"),
        style=markupsafe.Markup((here / "page.css").read_text()),
        script=markupsafe.Markup(f'(() => {{\n"use strict";\n{script}\n}})();'),
        data=data,
        **values,
    )
