"""A paper over again for anybody's models: each figure and table as a file, and a page that shows them in its order.

May import papers, charts and what the package shares; the questions come from queries.
"""
