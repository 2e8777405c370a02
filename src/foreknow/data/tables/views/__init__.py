"""Views: a table with other names, readings or rows."""
