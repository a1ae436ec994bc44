"""Videos over HTTP, for programs: JSON out, one sentence for each error. See docs/watching.md."""
