"""Who serves customers best: a policy before and after training, SmolLM2 as it is, or scripted clerks?

simarena train service-desk-tiny
simarena tournament examples/tournaments/service_desk_models.py

Everyone serves the same held-out customers alone. Two tries at each tell how reliable they are.
"""

from checkpoints import first_and_newest, smollm2

CLERK = "simarena.simulators.scenarios.service_desk.clerk:Clerk"


def tournament() -> dict:
    return {
        "scenario": {"name": "service-desk", "options": {"split": "heldout"}},
        "format": {"kind": "block"},
        "best_of": 32,
        "trials": 2,
        "limits": {"turns": 24, "turn_tokens": 16, "clipped": "speak", "turn_seconds": 300},
        "entrants": {
            **first_and_newest("service-desk-tiny"),
            **smollm2(),
            "expert": {"agent": CLERK, "options": {"slips": 0.0}},
            "novice": {"agent": CLERK, "options": {"slips": 1.0}},
            "echo": "echo",
        },
    }
