"""The slow line, with sockets in the place of network interfaces."""

from __future__ import annotations

import socket
import time

import pytest

from research.benchmarks.slow_line import slow_line


@pytest.mark.parametrize("loss", [0.0, 0.3])
def test_frames_come_late_in_order_and_as_often_as_they_may(loss):
    (here, one), (there, other) = (socket.socketpair(type=socket.SOCK_SEQPACKET) for _ in range(2))
    with here, there, slow_line(one.detach(), other.detach(), delay_s=0.05, loss=loss):
        for source, target in ((here, there), (there, here)):
            target.settimeout(0.3)
            began = time.monotonic()
            for number in range(200):
                source.send(number.to_bytes(2, "little"))
            got = [int.from_bytes(target.recv(2), "little")]
            assert time.monotonic() - began >= 0.05
            try:
                while len(got) < 200:
                    got.append(int.from_bytes(target.recv(2), "little"))
            except TimeoutError:
                assert loss > 0
            assert got == sorted(set(got))
            # Five standard deviations about the mean.
            assert abs(len(got) - 200 * (1 - loss)) <= 5 * (200 * loss * (1 - loss)) ** 0.5
