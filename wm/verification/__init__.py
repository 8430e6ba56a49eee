"""Verification: a claim and a suspect's answers in, evidence and a verdict out.

`evidence` (votes), `weak_evidence` (probabilities, labels), `alignment` (missing trees), `pooling` (several
claims); `rules` and `verdict`; `questions`, `decoys`, `answers`, `answer_files` and `endpoint`: how a suspect
is asked. May import `claims`, `formats` and what these may.
"""
