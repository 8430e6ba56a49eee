"""What the servers serve: scripts for their own environments, which have no treeproof."""
