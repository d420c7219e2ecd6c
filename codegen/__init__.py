"""Code generation: from Plan to C and to a library, with the audit and the conformance check."""
