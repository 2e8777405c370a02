"""Methods that the rest of Foreknow does not need, a folder each."""
