"""Readers and writers of other libraries' models, one module each; readers return a `wm.models.TreeModel`.

`reading` opens a file by its ending, `objects` takes models in memory; `assembling` makes checked trees one
model.
"""
