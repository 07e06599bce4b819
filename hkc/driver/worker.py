"""The code generation process: LLVM IR text in, object and assembly out. It imports only llvmlite.

A fatal LLVM error ends the process it happens in, so LLVM runs here and never in the user's process. The
script is started by path with ``python -E -S worker.py SITE_PACKAGES`` (no site start-up, 0.1 s instead of
0.3 s) and serves requests on stdin until end of file.

A message is a frame of JSON followed by frames of bytes; a frame is a little-endian u32 length and its bytes.
Request: ``{"arch": "gfx950", "level": 3, "assembly": true}``, LLVM IR. Reply: ``{"error": {"stage",
"message"} | null, "seconds": {"optimize", "emit"}}``, object, assembly (empty if not wanted; both empty
after an error).
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself would cost start-up time
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType
    from typing import BinaryIO

TRIPLE = "amdgcn-amd-amdhsa"


def read_frame(stream: BinaryIO) -> bytes | None:
    """The next frame, or None at (even a premature) end of the stream."""
    head = stream.read(4)
    if head is None or len(head) < 4:
        return None
    size = int.from_bytes(head, "little")
    body = stream.read(size)
    return bytes(body) if len(body) == size else None


def write_frames(stream: BinaryIO, *frames: bytes) -> None:
    """Write the frames and flush."""
    for frame in frames:
        stream.write(len(frame).to_bytes(4, "little"))
        stream.write(frame)
    stream.flush()


# Accumulators are carried through loops as whole vectors. Cut into dwords, which AMDGPUCodeGenPrepare does where a
# constant enters the loop, they would be copied between VGPRs and AGPRs in every iteration.
LLVM_OPTIONS = ("-amdgpu-codegenprepare-break-large-phis=0",)


class Failure(Exception):
    """A request that LLVM refused politely: the stage and LLVM's message."""


def in_child(work: Callable[[], bytes]) -> Callable[[], bytes]:
    """Start ``work`` in a forked child; calling the result waits for its bytes (none if it failed).

    Emission changes the module that it emits, so object and assembly need a copy each: a child has one, and
    runs on another core meanwhile.
    """
    import os

    source, sink = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # the parent meets the same error, and prints it
            with os.fdopen(sink, "wb") as stream:
                stream.write(work())
        finally:
            os._exit(0)
    os.close(sink)

    def result() -> bytes:
        with os.fdopen(source, "rb") as stream:
            data = stream.read()
        os.waitpid(child, 0)
        return data

    return result


def generate(
    llvm: ModuleType, text: str, arch: str, level: int, want_assembly: bool
) -> tuple[bytes, bytes, dict[str, float]]:
    """Optimise and emit one module; the same text always gives the same bytes (a fresh context each time)."""
    from time import perf_counter

    start = perf_counter()
    try:
        module = llvm.parse_assembly(text, llvm.create_context())
        module.verify()
    except RuntimeError as error:
        raise Failure("parse", str(error)) from None
    try:
        machine = llvm.Target.from_triple(TRIPLE).create_target_machine(cpu=arch, opt=level)
        tuning = llvm.create_pipeline_tuning_options(speed_level=level)
        builder = llvm.create_pass_builder(machine, tuning)
        builder.getModulePassManager().run(module, builder)
        optimized = perf_counter()
        machine.set_asm_verbosity(True)
        wait = in_child(lambda: machine.emit_assembly(module).encode()) if want_assembly else bytes
        try:
            obj = machine.emit_object(module)
        finally:
            assembly = wait()
    except RuntimeError as error:
        raise Failure("emit", str(error)) from None
    if want_assembly and not assembly:
        raise Failure("emit", "LLVM wrote the object, but stopped while writing its assembly")
    done = perf_counter()
    return obj, assembly, {"optimize": optimized - start, "emit": done - optimized}


def serve(requests: BinaryIO, replies: BinaryIO) -> None:
    """Answer requests until end of file."""
    import json

    import llvmlite.binding as llvm

    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    for option in LLVM_OPTIONS:
        llvm.set_option("hkc", option)
    while (head := read_frame(requests)) is not None and (text := read_frame(requests)) is not None:
        options = json.loads(head)
        reply: dict[str, object] = {"error": None, "seconds": {}}
        obj, assembly = b"", b""
        try:
            obj, assembly, reply["seconds"] = generate(
                llvm, text.decode(), options["arch"], options["level"], options["assembly"]
            )
        except Failure as failure:
            stage, message = failure.args
            reply["error"] = {"stage": stage, "message": message}
        write_frames(replies, json.dumps(reply).encode(), obj, assembly)


def main() -> None:
    """Take over stdin and stdout as the two ends of the protocol; whatever LLVM prints goes to stderr."""
    import os

    replies = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    sys.path[0:0] = sys.argv[1:]
    serve(sys.stdin.buffer, replies)


if __name__ == "__main__":
    main()
