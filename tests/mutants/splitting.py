"""Mutations of what encodes one video by several workers: trust, pins, order of the line, what is collected."""

from tests.mutants.mutant import Mutant

SPLITTING, PART = "jobs/videos/split/splitting.py", "jobs/videos/split/part.py"
COLLECT, QUALITIES = "jobs/videos/lifecycle/collect.py", "jobs/selectors/qualities.py"
ENCODING, PUBLISH = "jobs/videos/transcoding/encoding.py", "jobs/videos/lifecycle/publish.py"
REACH = "jobs/videos/lifecycle/reach.py"
HANDED, FRAMES = "jobs/videos/split/handed_over.py", "jobs/videos/transcoding/probing/frames.py"
COMMANDS = "jobs/videos/transcoding/commands.py"
TOLD, ENCODERS = "jobs/videos/transcoding/told.py", "jobs/videos/transcoding/encoders.py"
IN_ADMIN = ("tests/videos/test_admin.py::test_while_others_encode_its_parts_a_video_is_as_far_as_its_qualities",)
ADDED = ("tests/selectors/test_qualities.py",)


def split(name: str) -> tuple[str, ...]:
    """One test: each encodes a video."""
    return (f"tests/videos/test_split.py::test_{name}",)


SAME = split("it_is_the_same_to_the_last_byte_as_one_that_a_single_worker_made")
LINE = split("its_parts_wait_behind_whole_videos_in_the_same_queue_and_tell_no_webhook")
AGAIN = split("a_part_that_is_damaged_or_gone_is_made_again_and_no_other")
AFRESH = split("without_keeping_qualities_the_next_attempt_orders_all_anew")
OTHER = split("with_another_ffmpeg_no_part_is_made_but_all_are_joined")
ANEW = split("what_is_missing_with_another_ffmpeg_is_made_anew_as_a_whole")
CANCEL = split("cancel_it_and_its_parts_are_cancelled_and_their_files_collected")
ONCE = split("a_source_that_lies_elsewhere_is_copied_once_for_all_of_its_parts")
BOUND = split("a_chunk_reads_no_source_but_that_of_the_video_it_was_spawned_for")
WHERE = split("a_part_is_looked_for_in_a_folder_of_its_own_and_nowhere_else")
DECIDES = split("the_order_decides_or_else_the_setting")
LEFT = split("what_an_earlier_attempt_elsewhere_has_left_is_not_believed_blindly")
TAKEN = ("tests/videos/test_handed_over.py",)
SPAWNED, ARGUMENTS = ("tests/videos/test_part.py",), ("tests/videos/test_commands.py",)

MUTANTS = [
    Mutant("split: any file is a chunk", HANDED, "frames is None or frames != counted(ctx, path)", "False", TAKEN),
    Mutant("split: its worker's word for its frames", HANDED, " or frames != counted(ctx, path)", "", TAKEN),
    Mutant("split: a chunk of any length", HANDED, " or not chunk.may_have(frames)", "", TAKEN),
    Mutant("split: all that is in the folder", HANDED, "ChunkStore(Path(place), ", "ChunkStore(store.folder, ", TAKEN),
    Mutant("split: whatever libav takes for an MP4", FRAMES, 'if kinds_in(path)[:1] != ["ftyp"]:', "if False:", TAKEN),
    Mutant("split: ffmpeg guesses", COMMANDS, '"-format_whitelist", "concat,mov", ', "", ARGUMENTS),
    Mutant("split: any folder", SPLITTING, " and folder == part_folder(video, name)", "", WHERE),
    Mutant("split: anybody's chunk", SPLITTING, "job_of_version(name) == child.id", "job_of_version(name)", WHERE),
    Mutant("split: what is gone stays gone", SPLITTING, "range(MOST_ORDERS)", "range(1)", AGAIN),
    Mutant("split: chunks go first", SPLITTING, "self.ctx.priority - 1", "self.ctx.priority + 1", LINE),
    Mutant("split: in the usual queue", SPLITTING, '"queue": self.ctx.queue,', "", LINE),
    Mutant("split: whatever its size", SPLITTING, '"size": self.task.source.size,', "", LINE),
    Mutant("split: a webhook for each", "jobs/videos/job_handlers.py", ' webhook_url="",', "", LINE),
    Mutant("split: old chunks are kept", SPLITTING, "return name + again + afresh", "return name + again", AFRESH),
    Mutant("split: any ffmpeg will do", PART, "if not encoding.can_encode:", "if False:", OTHER),
    Mutant("split: two ffmpegs are mixed", ENCODING, "not encoding.can_encode and encoding.missing()", "False", ANEW),
    Mutant("split: a copy for each", "jobs/videos/phases.py", "ctx.workdir_of(part.job)", "ctx.scratch", ONCE),
    Mutant("split: the source of any video", REACH, "not is_wanted(claim.job_id, asked)", "False", BOUND),
    Mutant("part: a quality that brings arguments", TOLD, "crf=whole(0, 51)", "crf=Codec(str, str)", SPAWNED),
    Mutant("part: any number", TOLD, "is_whole(value) and least <= value <= most", "is_whole(value)", SPAWNED),
    Mutant("part: any demuxer", TOLD, "demuxer=among(sorted(DEMUXERS))", "demuxer=WORDS", SPAWNED),
    Mutant("part: any name in a path", TOLD, "name=QUALITY", "name=WORDS", SPAWNED),
    Mutant(
        "part: words make arguments",
        ENCODERS,
        'return ["-c:v", self.name, *quality, *self.closed, *rates, *groups]',
        'return " ".join(["-c:v", self.name, *quality, *self.closed, *rates, *groups]).split()',
        ARGUMENTS,
    ),
    Mutant("split: any pins", SPLITTING, 'believed(PINNED, known["pinned"])', 'Pinned(**known["pinned"])', LEFT),
    Mutant("split: the setting decides alone", SPLITTING, "asked if asked is not None else 0", "0", DECIDES),
    Mutant("collect: parts that are waited for", COLLECT, " | still_wanted(video_id) if parts", " if parts", CANCEL),
    Mutant("collect: parts stay", COLLECT, "[part_folder(video_id, name) for name in idle]", "[]", CANCEL),
    Mutant("publish: parts stay", PUBLISH, "if job.dependencies.exists():", "if False:", SAME),
    Mutant(
        "admin: the job's own percent",
        "jobs/videos/shown_in_admin.py",
        "percent_of(video.job, told_qualities(video))",
        "video.job.progress",
        IN_ADMIN,
    ),
    Mutant(
        "admin: asked for each video",
        "jobs/videos/admin.py",
        "        shown.tell_qualities(listed.result_list)\n",
        "",
        IN_ADMIN,
    ),
    Mutant("qualities: nobody adds", QUALITIES, "    add_parts([", "    list([", ADDED),
    Mutant("qualities: also while it runs", QUALITIES, "row.status == QualityStatus.PENDING and ", "", ADDED),
    Mutant("qualities: done too soon", QUALITIES, "min(UNTIL_JOINED, 100", "min(100, 100", ADDED),
    Mutant("qualities: more than all", QUALITIES, 'min(total, told["segments"] or 0)', 'told["segments"] or 0', ADDED),
]
