"""Parts: primitives of the heap, which read the Plan and know no policy; they ask the rooms (model/policy)."""
