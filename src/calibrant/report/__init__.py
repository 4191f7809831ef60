"""What was found, for people: one view model, built from records, and a rendering for each place where it is read."""
