"""Whole program: numba optimises and assembles a kernel with its callees once, not each callee.

numba makes machine code of every compiled function, with all its callees. For 290 functions, this
took four times as long as the entry alone, whose machine code holds all of them again. This module
keeps the callees as LLVM's intermediate code until the entry links them. It replaces three methods
of numba's internals. If these differ from numba 0.61 to 0.68, numba works as usual. Kernels pass
through half of numba's passes, a tenth of the time less.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

PART = "part."
"""The prefix of the qualified names of functions that only compiled code calls."""

UNNEEDED = {
    "WithLifting",
    "InlineClosureLikes",
    "RewriteSemanticConstants",
    "DeadBranchPrune",
    "RewriteDynamicRaises",
    "MakeFunctionToJitFunction",
    "InlineInlinables",
    "FindLiterallyCalls",
    "LiteralUnroll",
    "LiteralPropagationSubPipelinePass",
    "InlineOverloads",
    "NopythonRewrites",
    "AnnotateTypes",
    "DumpParforDiagnostics",
}
"""numba's passes for what no kernel has: closures, exceptions, expressions of arrays, `with`."""


@contextmanager
def uncollected() -> Iterator[None]:
    """Stop the search for garbage: numba's many objects live on, and each search walks all of them."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()


def _callers_first(library: Any) -> list[Any]:
    """Return what a library links, with what its parts link: a callee that nothing refers to yet is dropped."""
    last_first: dict[Any, None] = {}

    def visit(one: Any) -> None:
        for linked in dict.fromkeys(one._linking_libraries):
            if linked not in last_first:
                if linked.name.startswith(PART):
                    visit(linked)
                last_first[linked] = None

    visit(library)
    return list(reversed(last_first))


@cache
def needed_passes() -> Any:
    """Return numba's compiler without the passes in UNNEEDED."""
    from numba.core import compiler

    numbas: Any = compiler

    class Kernels(numbas.CompilerBase):  # type: ignore[misc]
        """Compiles a kernel."""

        def define_pipelines(self) -> list[Any]:
            every = numbas.DefaultPassBuilder.define_nopython_pipeline(self.state)
            needed = numbas.PassManager(every.pipeline_name)
            needed.passes = [one for one in every.passes if one[0].__name__ not in UNNEEDED]
            needed.finalize()
            return [needed]

    return Kernels


@cache
def compile_as_one() -> None:
    """Stop numba from making machine code of functions with the prefix PART.

    A record's long description, which numba writes out anew for each message that it may have to
    give, becomes its name.
    """
    from numba.core import codegen, types

    library_type: Any = codegen.CPUCodeLibrary
    codegen_type: Any = codegen.JITCPUCodegen
    record_type: Any = types.Record
    needed = ("finalize", "_finalize_dynamic_globals")
    if not all(hasattr(library_type, name) for name in needed) or not hasattr(codegen_type, "set_env"):
        return
    finalize, set_env = library_type.finalize, codegen_type.set_env

    def finalize_unless_part(self: Any) -> None:
        if self.name.startswith(PART):
            self._finalize_dynamic_globals()
            self._finalized = True
        else:
            self._linking_libraries = _callers_first(self)
            finalize(self)

    def set_env_if_there(self: Any, name: str, env: Any) -> None:
        if self._engine.get_global_value_address(name):
            set_env(self, name, env)

    library_type.finalize = finalize_unless_part
    codegen_type.set_env = set_env_if_there
    record_type.__repr__ = record_type.__str__
