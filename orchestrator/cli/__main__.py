"""Makes `python -m orchestrator.cli` the same as `wm`."""

from orchestrator.cli import main

main()
