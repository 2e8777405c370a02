"""Several releases of the same people, judged as one where their groups are settled."""
