"""The page: a report of traces, designs and measurements as one HTML file."""
