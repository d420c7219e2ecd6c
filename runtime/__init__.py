"""C written by hand and shared by every generated library (package data)."""
