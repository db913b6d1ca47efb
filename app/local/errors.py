"""What the embedded default reports when a part cannot run.

It runs before the application, from the checkout alone, so its errors are sentences for the person at the terminal
rather than the coded errors of `app.core.errors`.
"""


class LocalError(Exception):
    """A part of the embedded default cannot do its work; the message says what, why and what to do."""
