"""Variations of what other tests show: `make test-all` runs them, `make test` leaves them out to end in minutes."""

import os

WANTED = "THOROUGH" in os.environ
VARIATIONS = (
    "browser/test_admin.py::test_pages_fit_are_readable_and_have_names_for_everything[tablet",
    "browser/test_admin.py::test_pages_fit_are_readable_and_have_names_for_everything[wide-dark]",
    "browser/test_admin.py::test_pages_fit_are_readable_and_have_names_for_everything[narrow-light]",
    "browser/test_live.py::test_a_page_whose_video_was_removed_stops_asking",
    "browser/test_playing.py::test_a_private_video_plays_for_whom_may_watch",
    "browser/test_playing.py::test_a_video_whose_files_are_gone_says_so",
    "browser/test_streams.py::test_the_dashboard_follows_too",
    "commands/test_endless.py::test_a_signal_ends_it_at_once_with_0[command0-2]",
    "commands/test_endless.py::test_a_signal_ends_it_at_once_with_0[command1-15]",
    "commands/test_endless.py::test_colour_is_for_a_terminal_unless_no_color_is_set",
    "project/test_demo.py::test_the_demo_fails_when_a_job_does_not_end_as_it_should",
    "project/test_demo.py::test_the_demo_says_so_when_nothing_can_be_stored",
    "project/test_wheel.py::test_its_tests_find_the_fixture",
    "security/test_attacks.py::test_no_filter_is_read_as_sql_or_finds_more_than_it_says[%]",
    "security/test_attacks.py::test_no_filter_is_read_as_sql_or_finds_more_than_it_says[_]",
    "security/test_attacks.py::test_no_filter_is_read_as_sql_or_finds_more_than_it_says[{{7*7}}]",
    "security/test_attacks.py::test_no_filter_is_read_as_sql_or_finds_more_than_it_says[1 UNION",
    "security/test_attacks.py::test_no_filter_is_read_as_sql_or_finds_more_than_it_says[%' OR",
    "videos/test_crashes.py::test_a_killed_worker_costs_a_chunk_of_each_quality_at_most[1]",
    "videos/test_crashes.py::test_a_worker_that_was_frozen_until_another_took_over_does_no_harm[another",
    "videos/test_split.py::test_a_part_that_is_damaged_or_gone_is_made_again_and_no_other[gone]",
    "videos/test_split.py::test_what_is_missing_with_another_ffmpeg_is_made_anew_as_a_whole",
    "videos/test_split.py::test_with_another_ffmpeg_no_part_is_made_but_all_are_joined",
    "videos/test_split.py::test_without_keeping_qualities_the_next_attempt_orders_all_anew",
    "videos/test_split_crashes.py::test_a_cancel_ends_all_that_encode_for_it",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[landscape-360p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[landscape-480p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[landscape-1440p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[landscape-2160p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[portrait-360p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[portrait-720p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[portrait-1080p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[portrait-1440p]",
    "videos/test_transcode.py::test_every_size_becomes_every_rung_that_fits_into_it[portrait-2160p]",
    "videos/test_transcode.py::test_no_name_of_a_file_gets_in_the_way[a b",
    "videos/test_transcode.py::test_no_name_of_a_file_gets_in_the_way[file:",
    "videos/test_transcode.py::test_the_sound_stays_as_good_as_the_best_quality_needs",
    "videos/test_transcode.py::test_the_thumbnail_shows_the_fifth_second_or_the_first_quarter[8",
    "videos/test_transcode.py::test_what_is_carried_is_carried_also_when_the_last_phase_runs_elsewhere",
    "videos/test_transcode.py::test_whatever_was_lost_of_the_work_is_made_again[work/",
    "videos/test_transcode.py::test_without_keeping_completed_qualities_an_attempt_starts_afresh",
    "videos/test_transcode_command.py::test_a_job_s_priority_is_raised_while_it_is_waited_for_here",
    "videos/test_transcode_command.py::test_a_job_that_is_cancelled_ends_the_wait",
    "videos/test_transcode_command.py::test_an_attempt_that_fails_is_repeated_here_and_meanwhile_nothing_else_is_done",
    "videos/test_transcode_command.py::test_what_does_not_get_ready_is_told",
    "videos/test_transcode_command.py::test_without_a_worker_it_works_itself_on_its_own_jobs_alone[--split]",
)


def is_variation(place: str) -> bool:
    """Whether the test of this id, below tests/, can be left out."""
    return place.startswith(VARIATIONS) and not WANTED
