"""How long tests wait for what must happen: far longer than it takes, also on a machine that others keep busy."""

PATIENCE = 60.0  # seconds; whoever waits so long waits for ever
