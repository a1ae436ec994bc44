"""The contract of a worker: it does the same whether it has the database or a server."""
