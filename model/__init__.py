"""The model: traces, designs, plans, the simulator and the search; imports nothing of ours."""
