"""The checks of a version, one kind of fault a file. Each yields sentences that name a file and its fault."""
