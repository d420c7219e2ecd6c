"""Shared empties: an empty slab serves any class that needs one."""

NAME = "shared"
