"""From a frame to a drawing, by subject: without state and without a page.

Imports the root's colours and errors alone. A new chart is a function here.

What is encoded is given as channels, alt.Tooltip("model:N") and not "model:N": for a bare string altair hashes its
whole schema, 12 ms each time.
"""
