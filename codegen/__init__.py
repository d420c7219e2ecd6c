"""Code generation: Plan to C, its audit, the compiler, and the proof that library and model agree."""
