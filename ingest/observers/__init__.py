"""What watches a sweep: each observer sees one layer of one chunk and hands over a mergeable part."""
