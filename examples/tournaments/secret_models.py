"""Who keeps secrets best and gets most out of others: a policy before and after training, SmolLM2, or scripts?

simarena train secret-tiny
simarena tournament examples/tournaments/secret_models.py

Everyone meets everyone, each deal from both seats: once as the one who asks, once as the one who keeps. The score
is the share of matches in which one got what its seat is for, so that serving an owner counts for both.
"""

from checkpoints import first_and_newest, smollm2

PLAYER = "simarena.simulators.scenarios.secret.players:Player"


def tournament() -> dict:
    return {
        "scenario": {"name": "secret", "options": {"split": "heldout"}},
        "format": {"kind": "round-robin"},
        "best_of": 20,
        "rating": {"method": "score"},
        "limits": {"turns": 8, "turn_tokens": 16, "clipped": "speak", "turn_seconds": 300},
        "entrants": {
            **first_and_newest("secret-tiny"),
            **smollm2(),
            "careful": {"agent": PLAYER, "options": {"slips": 0.0}},
            "gullible": {"agent": PLAYER, "options": {"slips": 1.0}},
            "echo": "echo",
        },
    }
