INSERT INTO q (payload) SELECT '{"video": 1, "path": "/media/library/1.mkv"}' FROM generate_series(1, 1000);
