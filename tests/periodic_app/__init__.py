"""An app for worker processes that tests start: it declares a periodic job."""
