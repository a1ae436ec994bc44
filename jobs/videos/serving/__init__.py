"""How the files of a version reach a browser: which ones, as what, whole or in part."""
