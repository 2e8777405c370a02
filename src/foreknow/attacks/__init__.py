"""What carries an attack out, and says how far it came: trials, never verdicts."""
