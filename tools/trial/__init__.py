"""Trials: designs beside each other on a user's program, prediction beside measurement, change by change."""
