"""The command line of the embedded default.

python -m app.local up              everything, in the foreground
python -m app.local flask …         a command of the application against what `up` runs
python -m app.local postgres|valkey one service, in the foreground
python -m app.local remove          delete all data
"""

import argparse
import os
import sys
from pathlib import Path

from app.local.errors import LocalError
from app.local.parts import CHECKOUT, Settings
from app.local.postgres import serve
from app.local.processes import become_flask, become_part, remove, up
from app.local.valkey import LocalValkey


def main(arguments: list[str]) -> int:
    if arguments[:1] == ["flask"]:
        become_flask(Settings.read(os.environ), arguments[1:], os.environ)
    parser = argparse.ArgumentParser(prog="python -m app.local", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    start = commands.add_parser("up", help="start everything and stay in the foreground")
    start.add_argument("--directory", type=Path, default=CHECKOUT, help="where wsgi.py and jobs are")
    commands.add_parser("remove", help="delete the data of the embedded run")
    part = commands.add_parser("part", help="become one part (used by the supervisor)")
    part.add_argument("name")
    for name in ("postgres", "valkey"):
        commands.add_parser(name, help=f"run {name} in the foreground")
    options = parser.parse_args(arguments)
    settings = Settings.read(os.environ, getattr(options, "directory", CHECKOUT))
    match options.command:
        case "up":
            return up(settings)
        case "remove":
            return remove(settings)
        case "part":
            become_part(settings, options.name)
        case "postgres":
            return serve(settings.home)
        case "valkey":
            LocalValkey(settings.home).become()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except LocalError as error:
        print(error, file=sys.stderr)
        sys.exit(1)
