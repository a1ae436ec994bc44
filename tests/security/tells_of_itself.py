"""`python -m tests.security.tells_of_itself` prints, as JSON, what it may, and what it was told."""

import json
import os
import resource
import sys

if __name__ == "__main__":
    with open("/proc/self/status") as file:
        status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
    told = {
        "memory": resource.getrlimit(resource.RLIMIT_DATA)[0],
        "cpu_seconds": resource.getrlimit(resource.RLIMIT_CPU)[0],
        "file_size": resource.getrlimit(resource.RLIMIT_FSIZE)[0],
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0],
        "no_new_rights": status["NoNewPrivs"],
        "network": os.readlink("/proc/self/ns/net"),
        "secrets": [name for name, value in os.environ.items() if value == "hunter2"],
    }
    json.dump(told, sys.stdout)
