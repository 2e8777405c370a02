"""What carries an attack out, and says how far it came: trials, and who knows the method."""
