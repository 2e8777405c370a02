"""What to require of a table and what that costs, found before anything is published."""
