"""How easily people are found again: risk, models of a population, minimal uniques."""
