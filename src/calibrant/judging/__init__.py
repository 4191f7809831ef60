"""What grades: judges and panels of judges, asked through one narrow seam, with all that they said kept."""
