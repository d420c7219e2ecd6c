"""Leak: a block of another malloc handed to free() is left alone; realloc() of one copies it into a block of ours."""

NAME = "leak"
