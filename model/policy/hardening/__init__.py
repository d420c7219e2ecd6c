"""Hardening: what misuse is looked for, and what that costs."""
