"""The Django project that runs Jobyard: settings, URLs and the demo."""
