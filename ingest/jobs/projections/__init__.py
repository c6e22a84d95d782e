"""What each value vector promotes and suppresses."""
