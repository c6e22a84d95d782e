"""Measuring by workers of a Ray cluster.

Only `worker_pool`, `session` and `ray_engine` import Ray, and nothing imports these before Ray is asked for.
"""
