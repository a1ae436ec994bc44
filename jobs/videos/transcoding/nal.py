"""The NAL units of H.264 as MP4 stores them, each after its length in four bytes."""

from jobs.videos.transcoding.mp4 import NotMp4

IDR = 5  # the type of a picture that needs nothing from before it


def has_idr(data: bytes, start: int, end: int) -> bool:
    """Whether the sample holds an IDR picture; raises NotMp4 where its units are not what their lengths say."""
    found = False
    while start < end:
        unit_end = start + 4 + int.from_bytes(data[start : start + 4])
        if not start + 4 < unit_end <= end:
            raise NotMp4(why=f"its picture data at {start} is garbage")
        found = found or data[start + 4] & 0x1F == IDR
        start = unit_end
    return found
