-- Two commits per hundred jobs: one claims them, one finishes them.
WITH candidates AS (SELECT id FROM q WHERE state = 0 ORDER BY id LIMIT 100 FOR NO KEY UPDATE SKIP LOCKED),
    claimed AS (UPDATE q SET state = 1, claimed_at = now() FROM candidates WHERE q.id = candidates.id RETURNING q.id)
SELECT array_agg(id)::text AS ids FROM claimed \gset
UPDATE q SET state = 2, finished_at = now() WHERE id = ANY (:ids::bigint[]);
