"""Which neurons of another model promote and suppress the same."""
