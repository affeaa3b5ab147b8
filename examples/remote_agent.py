"""A remote agent: takes a seat in a run over the bus, with nothing but a Redis client (see docs/bus.md).

    python examples/remote_agent.py redis://localhost:6379/0 RUN NAME

Seat it with `AgentSpec.of_remote(NAME)`. This one repeats what it last heard and leaves when it hears "bye".
"""

import contextlib
import json
import sys

import redis


def act(seen: dict) -> dict:
    heard = [m for m in seen["messages"] if m["kind"] == "speech" and m["seat"] != seen["seat"]]
    text = " ".join(part["text"] for part in heard[-1]["parts"] if part["type"] == "text") if heard else ""
    said = f"You said: {text}" if text else "Hello!"
    return {"parts": [{"type": "text", "text": said}], "leave": "bye" in text.lower()}


def serve(bus: redis.Redis, run: str, lane: str, replica: str) -> None:
    work = f"sa:{run}:w:{lane}:{replica}"
    with contextlib.suppress(redis.ResponseError):  # it is there from an earlier life
        bus.xgroup_create(work, "hosts", id="0", mkstream=True)
    bus.set(f"sa:{run}:lane:{lane}", replica)
    after = "0"  # first what an earlier life took and did not finish, then what is new
    while True:
        bus.set(f"sa:{run}:h:{lane}:{replica}", "alive", px=3000)
        got = bus.xreadgroup("hosts", replica, {work: after}, count=1, block=500)
        entries = got[0][1] if got else []
        after = "0" if entries and after == "0" else ">"
        for id, fields in entries:
            request = json.loads(fields[b"d"])
            reply = {key: request[key] for key in ("episode", "turn", "seat", "attempt")}
            reply["action"] = act(request["observation"])
            bus.xadd(request["reply_to"], {"d": json.dumps(reply)})
            bus.xack(work, "hosts", id)
            bus.xdel(work, id)


if __name__ == "__main__":
    url, run, name = sys.argv[1:]
    serve(redis.Redis.from_url(url, protocol=2), run, f"remote.{name}", name)
