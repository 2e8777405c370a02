"""Report: an audit as people read it, in a terminal, a notebook and one HTML page."""
