"""Whole program: numba optimises and assembles a kernel with all that it calls once, and no callee for itself.

numba makes machine code of every function as soon as it is compiled, with all its callees in it: 290 of them took four
times as long as the one that Python calls, whose machine code holds them all again. This leaves the callees as LLVM's
intermediate code until that one links them. It replaces two methods of numba's internals; where those are not as they
were in numba 0.61 to 0.68, numba goes on as it is.
"""

from functools import cache
from typing import Any

PART = "part."
"""How the qualified names of functions begin that only compiled code calls."""


@cache
def compile_as_one() -> None:
    """From now on functions whose qualified names begin with PART get no machine code of their own."""
    from numba.core import codegen

    library_type: Any = codegen.CPUCodeLibrary
    codegen_type: Any = codegen.JITCPUCodegen
    needed = ("finalize", "_get_module_for_linking", "_finalize_dynamic_globals")
    if not all(hasattr(library_type, name) for name in needed) or not hasattr(codegen_type, "set_env"):
        return
    finalize, set_env = library_type.finalize, codegen_type.set_env

    def finalize_unless_part(self: Any) -> None:
        if not self.name.startswith(PART):
            finalize(self)
            return
        for library in dict.fromkeys(self._linking_libraries):
            self._reload_init.update(library._reload_init)
            self._final_module.link_in(library._get_module_for_linking(), preserve=True)
        self._finalize_dynamic_globals()
        self._finalized = True

    def set_env_if_there(self: Any, name: str, env: Any) -> None:
        if self._engine.get_global_value_address(name):
            set_env(self, name, env)

    library_type.finalize = finalize_unless_part
    codegen_type.set_env = set_env_if_there
