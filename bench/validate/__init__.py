"""Validation: predictions compared with measurements of libraries."""
