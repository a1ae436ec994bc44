-- The smallest table that can still be called a durable job queue.
DROP TABLE IF EXISTS q;
CREATE TABLE q (
    id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    state       smallint    NOT NULL DEFAULT 0,  -- 0 pending, 1 running, 2 finished
    payload     jsonb       NOT NULL DEFAULT '{}',
    enqueued_at timestamptz NOT NULL DEFAULT now(),
    claimed_at  timestamptz,
    finished_at timestamptz
);
CREATE INDEX q_ready ON q (id) WHERE state = 0;
