"""The ASGI application that gunicorn serves: the site in threads; streams, and claims that wait, beside them.

See docs/live.md and docs/remote-workers.md.
"""

from django.conf import settings

from project.wsgi import application as site

from jobs.api.events.asgi import Streams  # isort: skip  the apps are ready once the site is
from jobs.api.worker.asgi import LongPolls  # isort: skip
from project.wsgi_in_threads import WsgiInThreads

threads = WsgiInThreads(site, settings.WEB_THREADS)
application = Streams(LongPolls(threads))
