"""What the commands of the laboratory have in common."""
