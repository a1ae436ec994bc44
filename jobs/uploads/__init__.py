"""Receives the files that a remote worker made: what they may be called, how large they may be, and when they count."""
