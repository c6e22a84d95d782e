"""Speed and memory as ratios against a bare limit and a peer, measured in one run."""
