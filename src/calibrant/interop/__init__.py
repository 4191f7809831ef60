"""Other tools' files read into records and tables, saying what they lack here."""
