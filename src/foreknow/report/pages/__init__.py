"""Pages: one file for each kind of result; `PAGES` of `foreknow.result` lists them."""
