"""The figures of "Privacy Streamliner" (section 4), measured and drawn anew."""
