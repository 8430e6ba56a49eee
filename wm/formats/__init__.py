"""Readers and writers of other libraries' models, one module each; `Forest` is the form between them."""
