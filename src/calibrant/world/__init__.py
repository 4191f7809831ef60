"""What resolves: one narrow seam to the world, and the resolvers that ship."""
