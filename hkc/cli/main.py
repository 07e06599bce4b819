"""Parsing arguments and turning errors into exit codes."""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path

from hkc.cli import compile_command, disasm_command, emulate_command, opt_command, run_command
from hkc.errors import HkcError, InternalError, render

_COMMANDS = (compile_command, run_command, opt_command, emulate_command, disasm_command)


def make_parser() -> argparse.ArgumentParser:
    """The parser of all commands."""
    parser = argparse.ArgumentParser(
        prog="hkc",
        description="Compile tile programs to AMD CDNA code objects and run them, with or without a GPU.",
        epilog="exit codes: 0 fine, 1 wrong result or sanitizer report, 2 bad input, 3 internal error",
        allow_abbrev=False,
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for command in _COMMANDS:
        command.add_parser(commands)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command line (default: the process's own); returns the exit code."""
    _prepare_output()
    options = make_parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
        return code
    except HkcError as error:
        print(render(error), file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader of our output left; there is nobody to tell
        return 2
    except MemoryError:
        print("error: there is not enough memory for this", file=sys.stderr)
        return HkcError.exit_code
    except Exception as error:
        if isinstance(error, OSError) and error.filename is None and error.errno == errno.ENOSPC:
            print(f"error: cannot write the output: {error.strerror}", file=sys.stderr)
            return HkcError.exit_code
        print(render(_unexpected(error)), file=sys.stderr)
        return InternalError.exit_code


def _prepare_output() -> None:
    """Programs are UTF-8 text, whatever the locale says; a closed stdout takes everything."""
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115 - lives as long as the process
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.encoding.lower() != "utf-8":
        sys.stdout.reconfigure(encoding="utf-8")


def _unexpected(error: Exception) -> InternalError:
    """An exception that nobody foresaw: where it came from in one line, and the traceback in a file."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    with tempfile.NamedTemporaryFile("w", prefix="hkc-", suffix=".txt", delete=False) as file:
        traceback.print_exception(error, file=file)
    where = f"{Path(frame.filename).name}:{frame.lineno}"
    return InternalError(
        f"{type(error).__name__}: {error} ({where})", notes=[(f"the traceback is in {file.name}", None)]
    )
