"""Reports: results as tables, pages and plots, and what this machine has."""
