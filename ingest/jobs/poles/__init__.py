"""What neurons do at coefficients of either sign."""
