"""Foreign pointers: what free() does with a block of another malloc."""
