"""Frames to matplotlib figures: pure functions, no pyplot, no global state.

One module for each kind of picture; `style` holds what they share: line styles, markers and hatches that
tell things apart in grey, and the lay-out of small panels.
"""
