"""The papers over again for anybody's models: each figure and table as files, and a page that shows them in its order.

Imports `charts`.
"""
