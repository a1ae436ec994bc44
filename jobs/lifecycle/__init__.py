"""The only writers of job state: one verb a file, every change of status through `transition.move`."""
