"""The backend for Django's task framework; `jobs.tasks_backend` has its public names."""
