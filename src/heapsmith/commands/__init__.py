"""The command line: a module for each group of commands, what they print, and how the program begins and ends."""
