"""Measurements: each module is a script, its docstring says how to call it."""
