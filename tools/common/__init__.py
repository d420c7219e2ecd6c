"""Parts that several packages of tools/ use: cached libraries, commands, rounds, units, tables."""
