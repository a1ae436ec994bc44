"""Which permission each thing needs: view, operate and administer, as in the admin."""


def looking_at(model: str) -> tuple[str, ...]:
    """Who may operate or administer may look, too."""
    return tuple(f"jobs.{verb}_{model}" for verb in ("view", "change", "delete"))


VIEW_JOBS, VIEW_WORKERS, VIEW_QUEUES = (looking_at(model) for model in ("job", "worker", "queue"))
OPERATE_JOBS, OPERATE_QUEUES = ("jobs.change_job",), ("jobs.change_queue",)
CLEAR_JOBS = ("jobs.delete_job",)
ENQUEUE = ("jobs.add_job",)  # of no use in the admin, where nobody adds a job by hand
