"""What a new lecture starts from. CONTRIBUTING.md says how."""
