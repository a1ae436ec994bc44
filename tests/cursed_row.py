"""A row that the database refuses to write, for outcomes that cannot be recorded."""

from django.db import connection


def refuse_updates(job_id: int, when: str) -> None:
    """Let the database refuse to write one row."""
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            cursor.execute(
                "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
                "$$ BEGIN RAISE EXCEPTION 'this row is cursed' USING ERRCODE = 'data_exception'; END $$"
            )
            cursor.execute(
                f"CREATE TRIGGER refuse BEFORE UPDATE ON jobs_job FOR EACH ROW "
                f"WHEN (NEW.id = {job_id} AND {when}) EXECUTE FUNCTION refuse()"
            )
        else:
            cursor.execute(
                f"CREATE TRIGGER refuse BEFORE UPDATE ON jobs_job WHEN NEW.id = {job_id} AND {when} "
                "BEGIN SELECT RAISE(ABORT, 'this row is cursed'); END"
            )
