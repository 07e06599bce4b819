"""The cache of compiled kernels: round trips, damage, concurrent writers, keys."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest

from hkc.driver import cache
from hkc.driver.key import cache_key
from hkc.dtypes import DTYPES
from hkc.lang.text import parse_text

from .conftest import TILE

KEY = "0" * 64
DATA = {"arch": "gfx950", "number": 0.1, "list": [1, None]}
PARTS = {"hsaco": bytes(range(256)) * 9, "asm": b"s_endpgm\n", "empty": b""}


def test_round_trip() -> None:
    assert cache.load(KEY) is None
    cache.store(KEY, DATA, PARTS)
    assert cache.load(KEY) == (DATA, PARTS)


@pytest.mark.parametrize("keep", [0, 1, 10, 200, -1])
def test_a_half_written_entry_is_absent(cache_folder: Path, keep: int) -> None:
    cache.store(KEY, DATA, PARTS)
    entry = cache_folder / f"{KEY}.hkc"
    entry.write_bytes(entry.read_bytes()[:keep])
    assert cache.load(KEY) is None
    cache.store(KEY, DATA, PARTS)
    assert cache.load(KEY) == (DATA, PARTS)


@pytest.mark.parametrize("text", ["null", "[]", "3", '{"format": 1, "data": 1, "sizes": 2}', "[" * 100_000])
def test_an_entry_of_something_else_is_absent(cache_folder: Path, text: str) -> None:
    (cache_folder / f"{KEY}.hkc").write_text(text)
    assert cache.load(KEY) is None


def test_a_flipped_bit_anywhere_is_noticed(cache_folder: Path) -> None:
    cache.store(KEY, DATA, PARTS)
    entry = cache_folder / f"{KEY}.hkc"
    whole = entry.read_bytes()
    for position in range(0, len(whole), 7):
        entry.write_bytes(whole[:position] + bytes([whole[position] ^ 1]) + whole[position + 1 :])
        assert cache.load(KEY) in (None, (DATA, PARTS))
    entry.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]))
    assert cache.load(KEY) is None


def test_an_unusable_folder_costs_only_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("HKC_CACHE_DIR", str(tmp_path / "file" / "cache"))
    cache.store(KEY, DATA, PARTS)
    assert cache.load(KEY) is None


def test_concurrent_writers_and_readers(cache_folder: Path) -> None:
    seen = []

    def work(number: int) -> None:
        for _ in range(30):
            cache.store(KEY, {"writer": number}, {"hsaco": bytes([number]) * 4096})
            entry = cache.load(KEY)
            assert entry is not None
            seen.append(entry[1]["hsaco"] == bytes([entry[0]["writer"]]) * 4096)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 120
    assert all(seen)
    assert [path.name for path in cache_folder.iterdir()] == [f"{KEY}.hkc"]


def _key(text: str = TILE, arch: str = "gfx950", file: str = "a.tile", **constants: object) -> str:
    (kernel,) = parse_text(text, file)
    return cache_key(kernel, arch, {"BM": 16, "BN": 64, **constants}, {})


def test_what_a_key_depends_on() -> None:
    others = [
        _key(TILE.replace("alpha\n", "alpha + x\n")),
        _key(arch="gfx942"),
        _key(BM=32),
        _key(file="b.tile"),  # it is in the line table
        _key("\n" + TILE),  # so are the lines
    ]
    assert len({_key(), *others}) == 6
    assert _key() == _key()
    (kernel,) = parse_text(TILE, "a.tile")
    assert cache_key(kernel, "gfx950", {}, {"X": DTYPES["f16"]}) != cache_key(
        kernel, "gfx950", {}, {"X": DTYPES["f32"]}
    )


def test_a_key_is_the_same_in_every_process() -> None:
    program = (
        "from hkc.lang.text import parse_text\n"
        "from hkc.driver.key import cache_key\n"
        f"(kernel,) = parse_text({TILE!r}, 'a.tile')\n"
        "print(cache_key(kernel, 'gfx950', {'BM': 16, 'BN': 64}, {}))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == _key()
