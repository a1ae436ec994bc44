from tests.dispatch.fixtures import redis_server

__all__ = ["redis_server"]
