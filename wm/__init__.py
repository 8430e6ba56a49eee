"""The science: watermark a forest, verify it, attack it.

Rooms: `forest` (the only model form that everything else sees), `streams` and `signature` (named
randomness), `datasets` and `tuning` (what a forest is trained on and how), `embedding` (making the
watermark), `verification` and `claims` (proving it), `attacks` and `engines` (breaking it), `hardness`
(Theorem 1), `isolation` (child processes that can be killed).

It knows nothing of queues, databases or the command line, and imports neither `workers` nor
`orchestrator`. The words used here are fixed in docs/glossary.md.
"""

__version__ = "0.1.0"
