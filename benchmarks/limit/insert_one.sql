INSERT INTO q (payload) VALUES ('{"video": 1, "path": "/media/library/1.mkv"}');
