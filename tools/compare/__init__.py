"""The runs of a program under several mallocs, measured side by side."""
