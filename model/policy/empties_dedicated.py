"""Dedicated empties: superslabs and empty slabs belong to one class for ever."""

NAME = "dedicated"
