"""Scheme `boosted` beside in-place fine-tuning of finished models (arXiv 2511.09822).

`finetuning`: the baseline; ``python -m research.boosting`` compares both on three data sets and prints a table.
"""
