"""The two places where a freed small block can go; a remote policy chooses between them."""

TO_FRONT = 0
"""Into the front of the freeing thread's heap."""

TO_OWNER = 1
"""On the remote list of the heap that owns its slab."""
