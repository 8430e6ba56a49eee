"""Attacks on a watermarked forest: each a pure function from what the attacker has to a frozen result."""
