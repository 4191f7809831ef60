"""Every record, its validation and its digest; nothing here touches a file, a clock or a network."""
