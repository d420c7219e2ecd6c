"""The mallocs for comparisons: finding, building and preloading them."""
