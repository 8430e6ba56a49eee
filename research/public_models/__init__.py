"""Forgery on models that others made and published: `python -m research.public_models FOLDER`.

- `models.toml`: the models: where each is from, its licence and its SHA-256; none is a part of this project;
- `measuring`: what is measured of one of them;
- `__main__`: the document, docs/public-models.md.
"""
