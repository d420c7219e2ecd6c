"""Search: the design of the least cost for a trace, with a reason for each number."""
