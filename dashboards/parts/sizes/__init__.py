"""What the page that compares sizes shows: the conclusion, a card per number, curves by depth, and what is missing."""
