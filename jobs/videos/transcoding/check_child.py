"""Checks a version that came from another machine, in a process of its own.

`python -m jobs.videos.transcoding.check_child FOLDER` prints what is wrong with it, and nothing if all is well.
"""

import sys
from pathlib import Path

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.validate import require_valid


def main(folder: str) -> None:
    try:
        require_valid(Path(folder))
    except InvalidOutput as error:
        sys.stdout.write(str(error.about["problems"]))


if __name__ == "__main__":
    main(sys.argv[1])
