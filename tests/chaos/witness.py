"""What the database of the site writes down by itself: what hooks published, and until when each lease was given."""

TABLES = """
CREATE TABLE chaos_published (job_id bigint, claim_id uuid);
CREATE TABLE chaos_lease (job_id bigint, claim_id uuid, ends_at timestamptz);
CREATE FUNCTION chaos_note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO chaos_lease VALUES (NEW.id, NEW.claim_id, NEW.lease_expires_at);
    RETURN NULL;
END $$;
CREATE TRIGGER chaos_note_lease AFTER UPDATE OF lease_expires_at ON jobs_job FOR EACH ROW
    WHEN (NEW.claim_id IS NOT NULL AND NEW.kind = 'chaos.exclusive') EXECUTE FUNCTION chaos_note_lease();
"""
PUBLISHED = "SELECT job_id, claim_id::text FROM chaos_published"
LEASES = """
SELECT job_id, claim_id::text, extract(epoch FROM ends_at)::float8,
    extract(epoch FROM pg_xact_commit_timestamp(xmin))::float8
FROM chaos_lease
"""
