"""What single neurons are worth to the loss, one by one."""
