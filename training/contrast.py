"""The contrast: one held-out deal as the policy played it before training and after. Reads a run folder."""

from simarena.arena.episodes import Episode
from simarena.arena.record import RunFolder


def contrast(folder: RunFolder) -> tuple[Episode, Episode] | None:
    """The first and the last playing of one deal; one that came to succeed, if there is any."""
    batches = [name for name in folder.batches() if name.startswith("eval-")]
    if len(batches) < 2:
        return None
    before = {(one.deal, one.member): one for one in folder.episodes(batches[0])}
    after = {(one.deal, one.member): one for one in folder.episodes(batches[-1])}
    both = sorted(before.keys() & after.keys())
    if not both:
        return None
    chosen = max(both, key=lambda key: (after[key].success, not before[key].success, -key[0]))
    return before[chosen], after[chosen]
