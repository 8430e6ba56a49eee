"""Verification: evidence and a verdict from a claim and a suspect's answers.

`evidence` (votes), `weak_evidence` (probabilities, labels), `alignment` (missing trees), `pooling` (several
claims); `rules` and `verdict`; `questions`, `decoys`, `answers`, `answer_files` and `endpoint` put questions
to a suspect. May import `claims`, `formats` and what these may.
"""
