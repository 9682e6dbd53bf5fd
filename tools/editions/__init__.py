"""The notebooks, executed and saved."""
