"""Why a server's certificate, or what stands in its place, is refused; and what to do about it."""

import ssl

from urllib3.exceptions import SSLError

from jobs.sanitise import clean_error
from jobs.worker.queue_client import QueueRefuses

SHOWN = 300
NOT_YET, EXPIRED, OTHER_NAME, OTHER_ADDRESS = 9, 10, 62, 64  # of OpenSSL, as X509_V_ERR_… in its documentation
RENEW = "Renew the certificate on the server, if the clock of this machine is right."
NAME = "Use the name that the certificate is for in --server, or give the server one for this name."
AUTHORITY = "Name the authority that signed it in JOBS_SERVER_CA_FILE, should it be one of your own."
HELP = {NOT_YET: RENEW, EXPIRED: RENEW, OTHER_NAME: NAME, OTHER_ADDRESS: NAME}


def not_trusted(url: str, error: SSLError) -> QueueRefuses:
    """Nothing was sent before this is known: neither the key nor anything else."""
    cause = error.__cause__ or error.__context__
    if isinstance(cause, ssl.SSLCertVerificationError):
        why, what = cause.verify_message.rstrip("."), HELP.get(cause.verify_code, AUTHORITY)
        return QueueRefuses(f"The certificate of {url} is not accepted: {why}. {what}")
    why = clean_error(error, SHOWN)
    return QueueRefuses(f"No secure connection to {url}: {why}. Is TLS spoken there, and is that the right port?")
