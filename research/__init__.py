"""Experiments on treeproof, outside of the wheel: benchmarks, and the paper reproduced."""
