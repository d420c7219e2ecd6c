"""Parts that several packages of bench/ use: cached libraries, commands, rounds, units, tables."""
