"""Hosts on two Ray nodes play the conversations of one process."""

from collections.abc import Iterator

import pytest

from simarena.arena import SimulatorArena
from simarena.arena.specs import AgentSpec

NOVICE = {"assistant": AgentSpec(agent="simarena.simulators.scenarios.service_desk.clerk:Clerk")}

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two nodes on this machine, each with processes, a scheduler and an object store of its own."""
    from simarena.arena.backends import ray as backend  # sets what Ray reads at its import

    assert not backend.ray.is_initialized()
    from ray.cluster_utils import Cluster

    node = {"num_cpus": 1, "object_store_memory": 100 * 2**20, "include_dashboard": False}
    nodes = Cluster(initialize_head=True, head_node_args=node)
    nodes.add_node(**node)
    monkeypatch.setenv("RAY_ADDRESS", nodes.address)
    yield
    backend.ray.shutdown()
    nodes.shutdown()


async def test_hosts_spread_over_nodes_and_play_the_same(cluster: None) -> None:
    import ray

    async def digests(arena: SimulatorArena) -> list[str]:
        playing = arena.play("service-desk", seats=NOVICE, deals=range(12))
        return sorted([episode.digest() async for episode in playing])

    async with SimulatorArena("inproc") as arena:
        wanted = await digests(arena)
    async with SimulatorArena("ray", people=4) as arena:
        where = {
            await actor.__ray_call__.remote(lambda self: ray.get_runtime_context().get_node_id())
            for actor in arena.backend._actors.values()
        }
        assert len(where) == 2
        assert await digests(arena) == wanted
