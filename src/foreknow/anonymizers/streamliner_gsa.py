"""GSA stub."""
def groups_of_gsa(codes, sizes, attributes, l, random, weights):
    raise NotImplementedError
