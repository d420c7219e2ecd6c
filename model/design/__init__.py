"""Design: the choices of a person or the search, and the Plan of every number that follows."""
