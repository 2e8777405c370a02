"""Knowledge: how sure adversaries can become, for each kind of knowledge."""
