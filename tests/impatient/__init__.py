"""An app that lets the worker it is installed in wait for no more than a moment for children that do not go on."""
