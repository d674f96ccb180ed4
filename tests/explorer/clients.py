"""Misbehaving clients, for tests of every server of the program."""

from __future__ import annotations

import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

Address = tuple[str, int]


def reset(address: Address, said: bytes) -> None:
    """Send bytes, and reset the connection (RST) before the answer comes."""
    with socket.create_connection(address) as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.sendall(said)


def leave(address: Address, said: bytes) -> None:
    """Send bytes, and close: the server's first write is answered by RST, the next one raises SIGPIPE."""
    with socket.create_connection(address) as client:
        client.sendall(said)


def read_a_byte_and_leave(address: Address, said: bytes) -> None:
    """Send bytes, read the first byte of the answer, and close."""
    with socket.create_connection(address) as client, suppress(OSError):
        client.sendall(said)
        client.recv(1)


def say(address: Address, said: bytes, wait_s: float = 30.0) -> bytes:
    """Send bytes, and return the whole answer."""
    found = b""
    with socket.create_connection(address, timeout=wait_s) as client, suppress(ConnectionError):
        client.sendall(said)
        with suppress(OSError):
            client.shutdown(socket.SHUT_WR)
        while block := client.recv(1 << 16):
            found += block
    return found


@contextmanager
def half_open(address: Address, count: int, said: bytes = b"GET / HTT") -> Iterator[list[socket.socket]]:
    """Context with ``count`` open connections whose requests never end."""
    clients = [socket.create_connection(address) for _ in range(count)]
    try:
        for client in clients:
            client.sendall(said)
        yield clients
    finally:
        for client in clients:
            client.close()


NONSENSE = [
    b"",
    b"\0" * 70_000,
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",  # TLS
    b"GET " + b"/" * 70_000 + b" HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 200 + b"\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET http://[/ HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    b"POST / HTTP/1.1\r\nContent-Length: 99999999999\r\n\r\n",
    b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffff\r\n",
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"CONNECT example.org:443 HTTP/1.1\r\n\r\n",
    b"GET /\r\n",
]


def outlives(address: Address, path: str, is_well: Callable[[], bool]) -> None:
    """Run every misbehaving client, and check after each that ``is_well`` is true."""
    asked = f"GET {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\n\r\n".encode()
    for _ in range(20):
        reset(address, asked)
        leave(address, asked)
        leave(address, b"GET / HTTP/1.0\r\n\r\n")
        read_a_byte_and_leave(address, asked)
    assert is_well()
    for nonsense in NONSENSE:
        reset(address, nonsense)
        leave(address, nonsense)
        say(address, nonsense)
    assert is_well()
    with half_open(address, 200):
        assert is_well()
    assert is_well()
