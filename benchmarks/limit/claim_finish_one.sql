-- Two commits per job: one claims it, one finishes it.
UPDATE q SET state = 1, claimed_at = now()
WHERE id = (SELECT id FROM q WHERE state = 0 ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED)
RETURNING id \gset
UPDATE q SET state = 2, finished_at = now() WHERE id = :id;
