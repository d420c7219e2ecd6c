"""Owner's list: a free by another thread is pushed on the lock-free MPSC list of the heap that owns the slab."""

NAME = "owner_list"
