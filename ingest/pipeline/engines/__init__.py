"""Where jobs are measured: in this process, or by workers of a cluster."""
