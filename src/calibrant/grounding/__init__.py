"""What an answer commits to, whether the world agrees, and what the pair is worth."""
