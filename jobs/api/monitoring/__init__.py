"""For machines that watch: `/metrics` for Prometheus, `/health/…` for load balancers and containers."""
