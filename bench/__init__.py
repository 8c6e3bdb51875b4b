"""The benchmark: `python -m bench`, and `python -m bench.scale` for the claim beside millions of rows."""
