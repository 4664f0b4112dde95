"""One command server for all tests of interrupted runs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.resume.commands import Commands


@pytest.fixture(scope="session")
def commands(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Commands]:
    with Commands(tmp_path_factory.mktemp("server")) as server:
        yield server
