"""The doctor: looks whether all is as it should be, says what is not, and with which command that is repaired.

    @examination("scratch")
    def scratch() -> Iterator[Finding]: …

Each is a small function. Apps add their own in a module `doctor_checks`.
"""
