"""What makes, serves and checks the course."""
