"""Running code objects through HIP: on a GPU where there is one, else on hkc's emulated device.

::

    dev = hkc.runtime.open_device("emulator:gfx950")
    fn = dev.load(code_object_bytes).function("name")
    with dev.alloc(4096) as buf:
        buf.write(array)
        fn.launch(grid=(4, 1, 1), block=(256, 1, 1), args=[buf, 4096, ctypes.c_float(1.0)])
        result = buf.read(array.dtype, array.shape)

Everything is imported on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hkc.runtime.buffer import Buffer as Buffer
    from hkc.runtime.device import Device as Device
    from hkc.runtime.device import Function as Function
    from hkc.runtime.device import Module as Module
    from hkc.runtime.device import Report as Report
    from hkc.runtime.device import open_device as open_device
    from hkc.runtime.hip import HipError as HipError
    from hkc.runtime.metadata import CodeObjectInfo as CodeObjectInfo
    from hkc.runtime.metadata import read_code_object as read_code_object

_FROM = {
    **dict.fromkeys(("Device", "Function", "Module", "Report", "open_device"), "hkc.runtime.device"),
    "Buffer": "hkc.runtime.buffer",
    "HipError": "hkc.runtime.hip",
    **dict.fromkeys(("CodeObjectInfo", "read_code_object"), "hkc.runtime.metadata"),
}


def __getattr__(name: str) -> Any:
    if name in _FROM:
        return getattr(import_module(_FROM[name]), name)
    raise AttributeError(f"module 'hkc.runtime' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *_FROM])
