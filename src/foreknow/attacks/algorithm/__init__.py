"""The adversary who knows the algorithm, and strikes out worlds that it would treat otherwise."""
