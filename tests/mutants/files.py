"""Mutations of files of remote workers: what may be named, read and written, and when it counts."""

from tests.mutants.mutant import POSTGRES, Mutant, lifecycle, races

PATHS, RECEIVE, ARCHIVE = "jobs/uploads/paths.py", "jobs/uploads/receiving.py", "jobs/uploads/archive.py"
REACH, FINAL, GIVEN = (
    "jobs/handlers/reach.py",
    "jobs/lifecycle/outputs/finalize.py",
    "jobs/lifecycle/outputs/hand_over.py",
)
TAKE, LOAD = "jobs/lifecycle/outputs/take.py", "jobs/worker/downloading.py"
ACCESS, SERVED = "jobs/api/worker/access.py", "jobs/api/worker/files"
FREEZE = "jobs/lifecycle/outputs/freeze.py"
NAMES, ARRIVING, PACKED = (
    ("tests/uploads/test_paths.py",),
    ("tests/uploads/test_receiving.py",),
    ("tests/uploads/test_archive.py",),
)
FILE_CALLS, REMOTE = "jobs/worker/file_calls.py", "jobs/worker/remote_files.py"
ASKED = ("tests/worker/test_file_calls.py",)
OUTPUTS, CALLS, LOADS = (
    lifecycle("outputs"),
    ("tests/api/worker/test_files.py",),
    ("tests/worker/test_downloading.py",),
)

MUTANTS = [
    Mutant("upload: any name", PATHS, "if not all(map(PART.fullmatch, parts)):", "if False:", NAMES),
    Mutant("upload: half a file counts", RECEIVE, "    if size != announced.size:", "    if False:", ARRIVING),
    Mutant(
        "upload: any hash",
        RECEIVE,
        "if announced.sha256 and announced.sha256 != digest",
        "if False and digest",
        ARRIVING,
    ),
    Mutant(
        "upload: through links",
        RECEIVE,
        "    if Path(os.path.realpath(folder)) !=",
        "    if False and folder !=",
        ARRIVING,
    ),
    Mutant("upload: not on the disk", RECEIVE, "        os.fsync(draft.fileno())\n", "", ARRIVING),
    Mutant("upload: a full disk as it is", RECEIVE, "if error.errno in FULL:", "if False:", ARRIVING),
    Mutant("archive: links", ARCHIVE, "elif header.type not in PLAIN", "elif False", PACKED),
    Mutant("archive: endless notes", ARCHIVE, "if header.size > LARGEST_NOTE:", "if False:", PACKED),
    Mutant(
        "archive: maps of sparse files",
        ARCHIVE,
        "    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = refuse_sparse\n",
        "",
        PACKED,
    ),
    Mutant("archive: notes pile up", ARCHIVE, "archive.pax_headers = {}", "pass", PACKED),
    Mutant("archive: headers pile up", ARCHIVE, "                archive.members = []", "                pass", PACKED),
    Mutant("reach: up and away", REACH, 'if ".." in name.split("/"):', "if False:", OUTPUTS),
    Mutant("reach: a folder for all", REACH, "if self.writes and claim", "if False and claim", OUTPUTS),
    Mutant("finalize: what is missing", FINAL, "    if missing:", "    if False:", OUTPUTS),
    Mutant("finalize: strays stay", FINAL, "        if path not in wanted:", "        if False:", OUTPUTS),
    Mutant("finalize: unchecked", FINAL, "    if reach.check:", "    if False:", OUTPUTS),
    Mutant("hand over: not finalized", GIVEN, "    if not output.finalized_at:", "    if False:", OUTPUTS),
    Mutant(
        "hand over: nothing at all", GIVEN, "        if owes_files(job, claim, kind):", "        if False:", OUTPUTS
    ),
    Mutant("take: a lost claim", TAKE, "    lock_one(claim)\n", "", OUTPUTS),
    Mutant("take: in the middle of a check", TAKE, "    if output.check_id:\n", "    if False:\n", OUTPUTS),
    Mutant(
        "take: more than fits",
        TAKE,
        "number, size = require_room(output, arrived)",
        "number, size = output.with_file(arrived.path, arrived.size)",
        races("upload_races"),
        POSTGRES,
    ),
    Mutant(
        "take: the old one counts", "jobs/models/output.py", "self.size - replaced + size", "self.size + size", CALLS
    ),
    Mutant("upload: too much stays elsewhere", RECEIVE, "                self.remove(arrived.path)\n", "", ARRIVING),
    Mutant("take: the folder of all", TAKE, "    if not folder:", "    if False:", OUTPUTS),
    Mutant("freeze: two at once", TAKE, "if output.check_id and not was_killed(output):", "if False:", OUTPUTS),
    Mutant("freeze: for ever", TAKE, "not was_killed(output)", "True", OUTPUTS),
    Mutant("freeze: never thaws", FREEZE, "        mine(output).update(check_id=None)\n", "", OUTPUTS),
    Mutant(
        "freeze: seems dead",
        FREEZE,
        "            mine(output).update(check_alive_at=Now())",
        "            pass",
        OUTPUTS,
    ),
    Mutant(
        "finalize: by a check that was replaced",
        FINAL,
        "    if not mine(output).update(",
        "    if not Output.objects.update(",
        OUTPUTS,
    ),
    Mutant("upload: elsewhere unasked", RECEIVE, "limits.go_on()  #", "#", ARRIVING),
    Mutant(
        "upload: named twice",
        RECEIVE,
        "functools.cache(functools.partial(give_name,",
        "(functools.partial(give_name,",
        ARRIVING,
    ),
    Mutant(
        "calls: streams of any size",
        ACCESS,
        "check_size(request, self.largest())",
        "self.streams or check_size(request, self.largest())",
        CALLS,
    ),
    Mutant(
        "calls: busy as a conflict", "jobs/api/errors.py", "if isinstance(error, BeingChecked):", "if False:", CALLS
    ),
    Mutant(
        "calls: a shared disk unheard of", f"{SERVED}/outputs.py", "if place and output is None:", "if False:", CALLS
    ),
    Mutant(
        "calls: read side by side",
        f"{SERVED}/sources.py",
        "    if not cache.add(",
        "    if False and cache.add(",
        CALLS,
    ),
    Mutant("calls: a proxy's word is the server's", FILE_CALLS, "if answer.status == 413:", "if True:", ASKED),
    Mutant("calls: a proxy's limit will pass", FILE_CALLS, "if answer.status == 413:", "if False:", ASKED),
    Mutant("calls: 5xx fails the attempt", FILE_CALLS, "if is_passing(answer.status):", "if False:", ASKED),
    Mutant("calls: a full disk is waited for", FILE_CALLS, "if answer.status == 507:", "if False:", ASKED),
    Mutant("calls: no Retry-After", FILE_CALLS, "uniform(0.5, 1.0), asked)", "uniform(0.5, 1.0), 0)", ASKED),
    Mutant("calls: an odd server is refused", REMOTE, "made.is_known = True", "made.is_known = False", ASKED),
    Mutant("fetch: half a file", LOAD, "if self.have() != self.size:", "if False:", LOADS),
    Mutant("fetch: any hash", LOAD, "if not self.sha256 or has_hash(self.part, self.sha256)", "if True", LOADS),
    Mutant(
        "fetch: another file's rest",
        LOAD,
        "        self.part.unlink(missing_ok=True)  # another file",
        "        # another file",
        LOADS,
    ),
]
