"""An app that makes the worker it is installed in one of another machine: nobody here can see whether it lives."""
