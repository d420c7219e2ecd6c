"""Packages of `make dev-all` that `make dev` leaves out; as a plugin of pytest (-p packages) this hides them."""

import re
import sys
import tomllib
from pathlib import Path

OTHER = {
    "dask": ("dask", "distributed"),
    "ipykernel": ("ipykernel", "nbformat", "nbclient"),
    "myst-nb": ("myst_nb",),
    "opentelemetry-proto": ("opentelemetry.proto",),
    "protobuf": ("google.protobuf",),
}
"""The modules that a package brings, where they have other names."""


def left_out() -> set[str]:
    """The modules of packages that dev-all installs and dev does not."""
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    names = {re.split(r"[^\w-]", wanted)[0] for extra in _extras(extras, "dev-all") for wanted in extras[extra]}
    kept = {re.split(r"[^\w-]", wanted)[0] for wanted in (*extras["dev"], *project["dependencies"])}
    return {module for name in names - kept - {"heapsmith"} for module in OTHER.get(name, (name,))}


def _extras(extras: dict[str, list[str]], name: str) -> set[str]:
    """An extra, and those that it is made of."""
    made_of = [part for wanted in extras[name] for part in re.findall(r"heapsmith\[(.*)\]", wanted)]
    return {name}.union(*(_extras(extras, part) for parts in made_of for part in parts.split(",")))


def pytest_configure() -> None:
    """Hide them from this process: an import fails, and a search finds nothing."""
    sys.modules.update(dict.fromkeys(left_out()))  # type: ignore[arg-type]
