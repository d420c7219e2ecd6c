"""Reports: results as tables, pages and plots, and the facts of this machine."""
