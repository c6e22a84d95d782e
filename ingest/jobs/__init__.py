"""The jobs: each declares what it measures, in which tables, and how its parts are folded together."""
