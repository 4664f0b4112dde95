"""Signals that ask to stop."""

from __future__ import annotations

import os
import signal
import time

import pytest

from gpuclf.train.signals import Interrupted, stop_on_signals


class Finalised:
    """A signal while Python can give an exception to nobody."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)


def test_a_stop_whose_exception_was_lost_is_asked_for_again(capfd: pytest.CaptureFixture[str]) -> None:
    with stop_on_signals() as stop:
        Finalised()  # its end is here
        with pytest.raises(Interrupted, match="SIGTERM"):
            time.sleep(30)
        assert stop.number == signal.SIGTERM
    assert "Traceback" not in capfd.readouterr().err


def test_other_lost_exceptions_are_told_as_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    told = []
    monkeypatch.setattr("sys.unraisablehook", told.append)

    class Faulty:
        def __del__(self) -> None:
            raise ValueError

    with stop_on_signals():
        Faulty()
    assert [type(one.exc_value) for one in told] == [ValueError]
