"""How much knowledge a release withstands: skylines, curves, and every generalization."""
