"""Header: 8 bytes before each block hold its class, written at every allocation and read at every free."""

NAME = "header"
