"""Recording: a command under the recorder, and its spools made traces."""
