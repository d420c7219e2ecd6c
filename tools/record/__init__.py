"""Recording: run a command under the recorder and convert its spools to traces."""
