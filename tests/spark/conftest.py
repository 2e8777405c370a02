"""The executors of Spark run the Python that runs the tests."""

import os
import sys

os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
