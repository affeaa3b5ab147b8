"""The benchmark: ours against what people would use instead, paired in one run. `make bench` runs all of it."""
