"""Handlers: one module for each kind of job, with `run(parameters, context) -> result`.

A handler returns None to be continued later. It may raise `WmError` for what a second try would not change.
"""
