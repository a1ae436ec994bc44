"""An app that lets the worker it is installed in start crashed children anew at once."""
