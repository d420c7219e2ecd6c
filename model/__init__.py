"""The model: traces, designs, plans, the simulator and the search; it imports no other package."""
