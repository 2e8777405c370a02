"""Tables of Spark, counted where they lie."""
