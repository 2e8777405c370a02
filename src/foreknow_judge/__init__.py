"""The judge: the one package that says whether a release is safe; it imports nothing of ours."""
