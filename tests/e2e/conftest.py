"""What whole runs share: a home of their own."""

from collections.abc import Iterator

import pytest


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """An empty cache for all runs of a module, in this process and in those it starts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SIMARENA_HOME", str(tmp_path_factory.mktemp("home")))
        yield
