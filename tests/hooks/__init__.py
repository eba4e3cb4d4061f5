"""What the clients' hooks call."""
