"""Files of a release and of policies, opened and read as untrusted."""
