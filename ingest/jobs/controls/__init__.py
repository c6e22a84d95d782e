"""What random vectors and FFN updates promote, beside neurons."""
