"""What fills the seats: one narrow seam, and the subjects that ship."""
