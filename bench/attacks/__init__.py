"""Small attacks on the heap, and which malloc stops them."""
