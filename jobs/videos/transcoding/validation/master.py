"""Does the master playlist state what the files are?"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from jobs.videos.transcoding.errors import InvalidOutput
from jobs.videos.transcoding.manifest import AUDIO, MASTER, PLAYLIST, Manifest, Rendition
from jobs.videos.transcoding.master_playlist import AAC_LC, codec_of
from jobs.videos.transcoding.validation.playlists import VERSION, Unparsable, cut, name_fault, parse
from jobs.videos.transcoding.validation.tracks import Track

TOLERANCE = 0.10  # of a bandwidth


def master_problems(version: Path, manifest: Manifest, tracks: dict[str, Track]) -> Iterator[str]:
    try:
        master = parse(version / MASTER, MASTER)
    except Unparsable as error:
        yield str(error)
        return
    if master.version != VERSION:
        yield f"{MASTER} states EXT-X-VERSION {master.version} instead of {VERSION}."
    if not master.is_independent_segments:
        yield f"{MASTER} has no EXT-X-INDEPENDENT-SEGMENTS."
    yield from named_problems(master, manifest)
    variants = {variant.uri: variant.stream_info for variant in master.playlists}
    rates = [info.bandwidth or 0 for info in variants.values()]
    if rates != sorted(rates):
        yield f"{MASTER} does not go from the lowest bandwidth to the highest."
    for rendition in manifest.renditions:
        info = variants.get(f"{rendition.name}/{PLAYLIST}")
        if info is not None:
            yield from variant_problems(rendition, info, manifest)
            if rendition.name in tracks:  # else it is said already: what cannot be read cannot be compared
                yield from codec_problems(version, rendition.name, info, manifest)
                yield from rate_problems(rendition.name, info, tracks, manifest)


def named_problems(master: Any, manifest: Manifest) -> Iterator[str]:
    """One line for each rendition, one for the sound, and none for anything else."""
    wanted = {f"{rendition.name}/{PLAYLIST}" for rendition in manifest.renditions}
    named = [variant.uri for variant in master.playlists]
    sounds = [media.uri for media in master.media]
    for uri in [*named, *sounds]:
        if fault := name_fault(uri):
            yield f"{MASTER} names {cut(uri)!r}, which {fault}."
    for uri in sorted(wanted - set(named)):
        yield f"{MASTER} does not name {uri}."
    for uri in named:
        if uri not in wanted:
            yield f"{MASTER} names {cut(uri)!r}, which is no rendition of the manifest."
        elif named.count(uri) > 1:
            yield f"{MASTER} names {uri} more than once."
    if sounds != ([f"{AUDIO}/{PLAYLIST}"] if manifest.audio_rate else []):
        yield f"{MASTER} names {cut(', '.join(map(str, sounds))) or 'nothing'} as sound; " + (
            f"it should be {AUDIO}/{PLAYLIST}." if manifest.audio_rate else "there is none."
        )


def codec_problems(version: Path, name: str, info: Any, manifest: Manifest) -> Iterator[str]:
    try:
        codec = codec_of(version / name)
    except InvalidOutput as error:
        yield str(error.about["problems"])
        return
    codecs = f"{codec},{AAC_LC}" if manifest.audio_rate else codec
    if info.codecs != codecs:
        yield f"{MASTER} states CODECS {info.codecs!r} for {name}; its files are {codecs!r}."


def variant_problems(rendition: Rendition, info: Any, manifest: Manifest) -> Iterator[str]:
    if info.resolution != (rendition.width, rendition.height):
        stated = "x".join(map(str, info.resolution or ("none",)))
        yield f"{MASTER} states RESOLUTION {stated} for {rendition.name}; it is {rendition.width}x{rendition.height}."
    if abs((info.frame_rate or 0) - float(manifest.frame_rate)) > 0.001:
        rate = float(manifest.frame_rate)
        yield f"{MASTER} states FRAME-RATE {info.frame_rate} for {rendition.name}; it is {rate:.3f}."
    if bool(info.audio) != bool(manifest.audio_rate):
        yield f"{MASTER} gives {rendition.name} {'an' if info.audio else 'no'} AUDIO group."


def rate_problems(name: str, info: Any, tracks: dict[str, Track], manifest: Manifest) -> Iterator[str]:
    names = [name, AUDIO] if manifest.audio_rate else [name]
    parts = [tracks[each].media for each in names if each in tracks]
    if len(parts) < len(names):
        return
    for label, stated, measured in (
        ("BANDWIDTH", info.bandwidth, sum(media.peak for media in parts)),
        ("AVERAGE-BANDWIDTH", info.average_bandwidth, sum(media.average for media in parts)),
    ):
        if abs((stated or 0) - measured) > TOLERANCE * measured:
            yield f"{MASTER} states {label} {stated} for {name}; measured, it is {measured}."
