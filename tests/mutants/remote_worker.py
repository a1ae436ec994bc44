"""Mutations of what a remote worker trusts, refuses, and says again."""

from tests.mutants.mutant import Mutant

SERVER, CLIENT = "jobs/worker/http_server.py", "jobs/worker/http_client.py"
CONNECTION, ERRORS = "jobs/worker/http_connection.py", "jobs/worker/http_errors.py"
LISTENER = "jobs/worker/http_listener.py"
SHAPES = "jobs/wire/shapes.py"
OF_SERVER, OF_CLIENT = ("tests/worker/test_http_server.py",), ("tests/worker/test_http_client.py",)
OF_CONNECTION, OF_WIRE = ("tests/worker/test_http_connection.py",), ("tests/wire/test_codecs.py",)
OF_TLS = ("tests/worker/test_tls.py",)
NOT_UNSET = "if not (name in self.defaults and is_same(item, self.defaults[name]))"

MUTANTS = [
    Mutant("key: any file will do", SERVER, "if mode & FOR_OTHERS:", "if False:", OF_SERVER),
    Mutant("key: any text will do", SERVER, "if prefix_of(key) is None:", "if False:", OF_SERVER),
    Mutant("server: in clear to anybody", SERVER, "and not conf.SERVER_ALLOW_HTTP", "and False", OF_SERVER),
    Mutant("connection: an odd server is waited for", CONNECTION, "if self.is_known:", "if True:", OF_CONNECTION),
    Mutant("connection: a known server is given up", CONNECTION, "if self.is_known:", "if False:", OF_CONNECTION),
    Mutant("connection: any certificate", CONNECTION, ".create_default", "._create_unverified", OF_TLS),
    Mutant("answer: 401 may pass later", ERRORS, "if status == 401:", "if False:", OF_CONNECTION),
    Mutant("answer: no Retry-After", ERRORS, "retry_in=retry_after(headers)", "retry_in=0.0", OF_CONNECTION),
    Mutant("client: starts again after signing off", CLIENT, "if self._signed_off:", "if False:", OF_CLIENT),
    Mutant("client: an old server will do", CLIENT, "OLDEST_SERVER):", '""):', OF_CLIENT),
    Mutant("client: outcomes in one call only", CLIENT, "if len(outcomes) == 1:", "if True:", OF_CLIENT),
    Mutant("listener: who claims rests", LISTENER, "if self._claimed_then != (", "if None is (", OF_CLIENT),
    Mutant("listener: asks without a rest", LISTENER, "time.sleep(self._rest)", "time.sleep(0)", OF_CLIENT),
    Mutant("wire: true is a number", SHAPES, "isinstance(value, int) and not isinstance(value, bool)",
           "isinstance(value, int)", OF_WIRE),
    Mutant("wire: what is unset is said", SHAPES, NOT_UNSET, "if True", OF_WIRE),
]  # fmt: skip
