"""What a model says when some of its neurons are set, scaled or turned off.

Nothing here knows a job or a warehouse: models and texts go in, numbers come out.
"""
