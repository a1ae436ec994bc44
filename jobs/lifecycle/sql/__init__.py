"""The few statements that the ORM cannot say."""
