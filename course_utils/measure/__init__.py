"""What is counted and measured: costs, dependence, peak memory, estimates."""
