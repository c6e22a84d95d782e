"""Other people's catalogs of neurons: folders of a form that somebody else publishes, read as a stranger's."""
