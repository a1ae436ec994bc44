"""Live: a stream of what changes, by Server-Sent Events. See docs/live.md.

A request is checked by an ordinary view, which then hands it over to an event loop (`asgi`). There it costs no thread
and no connection: one thread (`hub`) looks at the database for all readers of a process.
"""
