"""What the bench scripts work out, on data that the tests make up."""
