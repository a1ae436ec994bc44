"""An app that ends the heartbeat's thread of the worker it is installed in, once a file is there."""
