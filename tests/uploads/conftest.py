"""What tests of uploads share."""

from tests.uploads.small_disk import small_disk

__all__ = ["small_disk"]
