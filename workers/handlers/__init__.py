"""Handlers: functions ``(parameters, context) -> result``, of the owner's `steps`, an `attack`, a `forgery`.

A handler returns None to be continued later. It may raise `WmError` for what a second try would not change.
"""
