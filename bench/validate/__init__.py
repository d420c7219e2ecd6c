"""Validation: predictions held against measurements of libraries."""
