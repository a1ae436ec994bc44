"""The only writers of video rows, one verb a file; jobs are made and cancelled by the queue's own verbs."""
