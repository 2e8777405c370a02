"""People: who a row is about, households, and who has which value."""
