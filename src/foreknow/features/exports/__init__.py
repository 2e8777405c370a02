"""Exports: a certified release once more, as a file of Excel, SPSS or Stata."""
