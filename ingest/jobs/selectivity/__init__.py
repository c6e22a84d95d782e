"""The job `selectivity`."""
