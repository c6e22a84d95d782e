"""The job `massive`."""
