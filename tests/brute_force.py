"""Forgery by going through all cells that a box meets, in exact arithmetic: slow, simple, and right."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np


def in_box(point, centre, eps):
    """Whether a point lies in the closed box around a centre and in [0, 1], in exact arithmetic."""
    return all(
        0 <= x <= 1 and abs(Fraction(float(x)) - Fraction(float(z))) <= Fraction(eps)
        for x, z in zip(point, centre, strict=True)
    )


def smallest_in_box(z, eps):
    """Return the smallest float32 in [0, 1] that is at most eps away from z, None if there is none."""
    bound = max(Fraction(0), Fraction(float(z)) - Fraction(eps))
    if bound > 1:
        return None
    x = np.float32(float(bound))
    while Fraction(float(x)) < bound:
        x = np.nextafter(x, np.float32(2))
    while x > 0 and Fraction(float(np.nextafter(x, np.float32(-1)))) >= bound:
        x = np.nextafter(x, np.float32(-1))
    return x if in_box([x], [z], eps) else None


def cells(forest, centre, eps):
    """Yield for each feature one point of each cell that the box meets: the smallest float32 in both.

    The thresholds of a feature cut its axis into cells. A cell's smallest float32 is the first one above the
    threshold; in the box's own cell it is the box's lower end.
    """
    for feature, z in enumerate(centre):
        lowest = smallest_in_box(z, eps)
        if lowest is None:
            yield []
            continue
        points = {lowest}
        for threshold in forest.threshold[forest.feature == feature]:
            if not lowest <= threshold <= 1:
                continue
            above = np.float32(threshold)
            if not float(above) > threshold:
                above = np.nextafter(above, np.float32(2))
            if in_box([above], [z], eps):
                points.add(above)
        yield sorted(points)


def wanted_votes(forest, points, query):
    """Return which points draw exactly the votes that a query wants."""
    agrees = forest.votes(points) == query.label
    return (agrees == (query.signature == 0)).all(axis=1)


def forgeable(forest, query):
    """Brute force: whether any combination of cells draws the wanted votes."""
    points = list(itertools.product(*cells(forest, query.centre, query.eps)))
    return bool(points) and bool(wanted_votes(forest, np.array(points, dtype=np.float32), query).any())
