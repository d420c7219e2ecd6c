"""The forge: from a command to an allocator library for it."""
