"""Heap: the abstract machine of docs/machine.md, its state and its operations."""
