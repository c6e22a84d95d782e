"""The job `entropy`."""
