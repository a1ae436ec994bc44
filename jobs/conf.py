"""Every setting of Jobyard: its name, default, unit and meaning, typed.

A setting is taken from Django's settings (`JOBS_X`), else the environment, else its default.
"""

from collections.abc import Iterator

from jobs.list_settings import parse_allowed, parse_paths, parse_ports, parse_secrets
from jobs.setting import (
    EnvironmentSecret,
    Setting,
    count,
    flag,
    optional_seconds,
    parse_choice,
    parse_secret,
    parse_share,
    seconds,
    text,
)
from jobs.web_address import Allowed, Policy

DAY = 86_400


class Conf:
    """The settings, as attributes of `conf`."""

    HEARTBEAT_INTERVAL = seconds(30, "How often a worker says that it lives and renews its claims.")
    CLAIM_DURATION = seconds(120, "How long a lease lasts unless it is renewed; a kind may set its own.")
    WORKER_OFFLINE_THRESHOLD = seconds(120, "A worker silent for longer is marked offline.")
    STALE_LOCK_AGE = seconds(
        45 * 60, "A lease that expired longer ago is taken back whatever the worker says; 0 = never."
    )
    REAP_INTERVAL = seconds(60, "How often a worker, or `reap_stale --loop`, reaps; 0 = workers do not reap.")
    REAP_GRACE = seconds(120, "After the database came up, no worker is judged for this long.")
    SERVER_URL = text("", "The site whose jobs `runworker` does over HTTP; empty = it has the database.")
    WORKER_KEY: EnvironmentSecret[str] = EnvironmentSecret(
        "", str, "worker_…", "The key of a worker that has a server; `runworker --key-file` is safer."
    )
    SERVER_CA_FILE = text("", "Certificate authorities of your own (PEM), beside the system's, for JOBS_SERVER_URL.")
    SERVER_ALLOW_HTTP = flag(False, "Whether a worker's key may go to a server without TLS.")
    POLL_INTERVAL = optional_seconds(
        "How often an idle worker looks for jobs; empty = 1 second, or 30 where wake-ups reach it."
    )
    MAX_ATTEMPTS = count(3, "executions", "How often a job is executed at most, the first run included.")
    BACKOFF = Setting(
        "exponential",
        parse_choice("exponential", "linear", "fixed"),
        "fixed, linear or exponential",
        "How the wait between attempts grows.",
    )
    BACKOFF_BASE = seconds(10, "The wait before the second attempt; 0 = retry at once.")
    BACKOFF_CAP = seconds(3600, "No wait between attempts is longer than this.")
    BACKOFF_JITTER = Setting(0.1, parse_share, "share", "Up to this share of a wait is added at random.")
    MAX_RUNTIME = optional_seconds("An attempt that runs longer fails; empty = no limit.")
    STALL_AFTER = seconds(600, "A running job without progress for longer is shown as stalled.")
    GPU_WAIT = optional_seconds(
        "How long a CPU worker leaves a GPU-preferring job to an idle GPU worker; empty = 2 heartbeats."
    )
    KEEP_COMPLETED_QUALITIES = flag(True, "Whether a retry keeps the qualities that were completed.")
    WORK_DIR = text("", "Where attempts keep their files; empty = a directory of our own in the temporary one.")
    CLEANUP_PARTIAL_ON_FAILURE = flag(True, "Whether the files of a failed attempt are removed.")
    SHUTDOWN_TIMEOUT = seconds(30, "How long a stopping worker lets its job finish before handing it back.")
    RETENTION_COMPLETED = seconds(30 * DAY, "Completed jobs are marked stale after this; 0 = never.")
    RETENTION_FAILED = seconds(90 * DAY, "Failed jobs are marked stale after this; 0 = never.")
    RETENTION_CANCELLED = seconds(30 * DAY, "Cancelled jobs are marked stale after this; 0 = never.")
    RETENTION_STALE_FOR = seconds(7 * DAY, "Stale jobs, and workers gone for as long, are deleted after this.")
    PRUNE_INTERVAL = seconds(
        3600, "How often the workers, one of them at a time, delete what is old; 0 = only `prune_jobs` does."
    )
    RETENTION_STATISTICS = seconds(8 * DAY, "What happened minute by minute is kept for this long.")
    DISPATCH = Setting(
        "auto",
        parse_choice("auto", "polling", "postgres", "redis", "hybrid"),
        "auto, polling, postgres, redis or hybrid",
        "How idle workers learn of new jobs.",
    )
    PERIODIC_INTERVAL = seconds(
        60,
        "How often a worker looks whether periodic jobs were changed; what is due starts on time all the same. "
        "0 = workers start none.",
    )
    PERIODIC_CATCH_UP = Setting(
        "one",
        parse_choice("none", "one", "all"),
        "none, one or all",
        "Which ticks of a periodic job are made up for after nobody was there to start them.",
    )
    PERIODIC_CATCH_UP_LIMIT = count(10, "ticks", "With `all`, no more than these, the latest ones, are made up for.")
    PERIODIC_GRACE = seconds(60, "A tick that is found later than this was missed.")
    REDIS_URL = text("", "The Redis that carries wake-ups with JOBS_DISPATCH redis or hybrid; empty = none.")
    REDIS_PREFIX = text("jobyard", "What the names of our streams and channels in Redis begin with.")
    REDIS_POOL_SIZE = count(10, "connections", "How many connections to Redis a process keeps.")
    SSE_PING = seconds(30, "How often an idle event stream sends a sign of life.")
    SSE_RECONNECT = seconds(3, "After how long a browser reconnects to the event stream.")
    SSE_INTERVAL = seconds(0.5, "How often the event stream looks for changes: no job is told of more often.")
    SSE_MAX_AGE = seconds(900, "An event stream ends after this, and whether its reader may still read is asked anew.")
    SSE_READERS = count(500, "streams", "How many event streams a web process holds at once.")
    ALERT_WEBHOOK_URL = text("", "Where alerts are sent; empty = nowhere.")
    ALERT_FORMAT = Setting(
        "json", parse_choice("json", "slack", "discord"), "json, slack or discord", "What the receiver understands."
    )
    ALERT_WORKERS = flag(False, "Whether it is told, too, when a worker starts or signs off.")
    ALERT_TRIES = count(5, "tries", "How often an alert is sent at most until its receiver takes it.")
    ALERT_LONG_TRANSACTION = seconds(
        600, "A transaction of PostgreSQL that is open for longer raises an alert; 0 = never."
    )
    ALERT_COOLDOWN = seconds(300, "The same alert is not sent again within this time.")
    ALERT_TIMEOUT = seconds(10, "How long the receiver of an alert may take.")
    ALERT_DEPTH = count(10_000, "jobs", "More jobs waiting in a queue than this raise an alert.")
    WEBHOOK_URL = text(
        "", "Where the ends of jobs are announced whose kind and enqueuer name no other URL; empty = nowhere."
    )
    WEBHOOK_SECRET: EnvironmentSecret[tuple[bytes, ...]] = EnvironmentSecret(
        (), parse_secrets, "whsec_…", "Signs what is sent; several with commas between them while one is replaced."
    )
    WEBHOOK_ALLOW = Setting(
        Allowed(), parse_allowed, "hosts and networks", "Who may be called although private, by http or on any port."
    )
    WEBHOOK_PORTS = Setting(frozenset({443, 8443}), parse_ports, "ports", "The ports that others are called on.")
    WEBHOOK_CA_FILE = text("", "Certificate authorities of your own (PEM), beside those of the system.")
    WEBHOOK_TIMEOUT = seconds(
        10, "How long a request may take in all, from the first look-up to the end of the answer."
    )
    WEBHOOK_TRIES = count(5, "requests", "How often a message is sent at most until it is answered with 2xx.")
    WEBHOOK_BACKOFF = seconds(15, "The wait before the second try; each further one is five times as long.")
    WEBHOOK_GIVE_UP = seconds(DAY, "A message that could not be delivered for so long is given up.")
    WEBHOOK_BREAKER = count(5, "failures", "After so many in a row a host is left alone for a while; 0 = never.")
    WEBHOOK_BREAKER_PAUSE = seconds(30, "For how long at first; it doubles, to ten times this at most.")
    WEBHOOK_PROGRESS = count(0, "percent", "Progress is announced at each multiple of this; 0 = not at all.")
    WEBHOOK_MAX_RESULT = count(64 * 1024, "bytes", "A larger result, as JSON, is left out of a message.")
    WEBHOOK_CONCURRENCY = count(8, "requests", "How many a worker has under way at once; 0 = workers deliver nothing.")
    RETENTION_WEBHOOKS = seconds(
        30 * DAY, "Messages that were delivered or given up are deleted after this; 0 = never."
    )
    ALERT_ERROR_RATE = Setting(
        0.1, parse_share, "share", "A larger share of a queue's jobs that failed within an hour raises an alert."
    )
    ALERT_NO_CLAIMS = seconds(60, "Jobs that wait while nobody has claimed for this long raise an alert.")
    ALERT_DISK_FREE = Setting(
        0.05, parse_share, "share", "Less free space than this share where files go raises an alert."
    )
    METRICS_TOKEN = text("", "What `/metrics` wants in `Authorization: Bearer`; empty = everybody may read it.")
    FFMPEG = text("", "The ffmpeg to use; empty = the one on the PATH, else that of the package imageio-ffmpeg.")
    VIDEO_ENCODERS = text(
        "",
        "The encoders to try for a video, as in `h264_nvenc,libx264`; empty = the hardware that works, then the CPU.",
    )
    VIDEO_CHUNK_SEGMENTS = count(
        10, "segments of 6 s", "How much of a quality is encoded at a time: what a crash can cost of each quality."
    )
    VIDEO_PARALLEL = count(
        0, "qualities", "How many qualities of a video are encoded at once; 0 = as cores and memory allow."
    )
    VIDEO_SPLIT_AFTER = seconds(
        0, "A longer video is encoded by several workers at once, chunk by chunk; 0 = each by one, unless it is asked."
    )
    WORKER_ADMIN_SECRET: EnvironmentSecret[str] = EnvironmentSecret(
        "", parse_secret, "text", "Who shows it may register remote workers over HTTP; empty = nobody."
    )
    WORKER_VERSION = text("", "The lowest version of Jobyard a remote worker needs to be given jobs; empty = any.")
    WORKER_CALLS_PER_KEY = count(
        12_000, "calls a minute", "How often a key of a remote worker is answered; 0 = always."
    )
    WORKER_CALLS_PER_ADDRESS = count(
        60_000, "calls a minute", "How often all remote workers behind one address are answered; 0 = always."
    )
    WORKER_WRONG_KEYS = count(
        60, "calls a minute", "How many wrong keys an address may show; right ones pass in any case; 0 = any number."
    )
    CLAIM_WAIT = seconds(25, "How long the claim of a remote worker waits for a job at most; 0 = not at all.")
    CLAIM_WAITERS = count(200, "claims", "How many claims of remote workers wait in a web process at once.")
    LOG_FORMAT = Setting(
        "keyvalue", parse_choice("keyvalue", "json"), "keyvalue or json", "How `jobs.logs` writes a line of the log."
    )
    VIDEO_PUBLIC = flag(
        False, "Whether everybody may watch the videos; else only users with the permission videos.view_video."
    )
    VIDEO_ACCEL = text(
        "", "The internal location of nginx that holds the storage's files; empty = Django sends them itself."
    )
    VIDEO_CONFINED = flag(
        True, "Whether ffmpeg runs with limits, without new rights and, where the machine allows it, without a network."
    )
    VIDEO_MEMORY = count(8 * 1024**3, "bytes", "How much memory each ffmpeg may take then; 0 = any.")
    VIDEO_KEEP_OLD = seconds(
        3600, "How long a version stays after another took its place: whoever watches it can go on."
    )
    VIDEO_MAX_UPLOAD = count(10 * 1024**3, "bytes", "The largest upload that the HTTP API accepts; 0 = any.")
    UPLOAD_MAX_FILES = count(50_000, "files", "How many files a remote worker may hand over for one attempt.")
    UPLOAD_MAX_FILE = count(10 * 1024**3, "bytes", "The largest of them.")
    UPLOAD_MAX_TOTAL = count(500 * 1024**3, "bytes", "All of them together.")
    UPLOAD_MAX_TIME = seconds(3600, "How long one request with a file or an archive may take.")
    PATH_MAP: Setting[dict[str, str]] = Setting(
        {},
        parse_paths,
        "/there=/here",
        "For a remote worker: which folders of the server it sees itself, and where; several with commas between them.",
    )
    MAX_PAYLOAD = count(1024 * 1024, "bytes", "The largest payload, as JSON, that enqueue accepts.")
    MAX_RESULT = count(1024 * 1024, "bytes", "A larger result, checkpoint or phase result is not stored whole.")
    MAX_ERROR = count(16 * 1024, "characters", "Error texts and tracebacks are cut to this.")

    @property
    def gpu_wait(self) -> float:
        return 2 * self.HEARTBEAT_INTERVAL if self.GPU_WAIT is None else self.GPU_WAIT

    @property
    def web_policy(self) -> Policy:
        """Whom we call."""
        return Policy(self.WEBHOOK_ALLOW, self.WEBHOOK_PORTS)


conf = Conf()


def all_settings() -> Iterator[Setting]:
    return (value for value in vars(Conf).values() if isinstance(value, Setting))
