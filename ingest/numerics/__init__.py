"""Arrays and no models: linear algebra, logistic regression, threads. Imports nothing of ours."""
