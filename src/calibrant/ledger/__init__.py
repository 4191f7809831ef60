"""The append-only Merkle log of a run, and the register of runs. This room knows bytes, not what they mean."""
