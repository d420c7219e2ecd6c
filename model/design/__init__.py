"""Design: the value that a person or the search chose, and the Plan of every number that follows from it."""
