"""The only writers of periodic jobs: sync with the code, tick, edit, run now."""
