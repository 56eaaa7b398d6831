"""Reads models and makes pictures and a video with OpenAI's client for Python, and prints what it saw as JSON."""

import base64
import json
import sys

from openai import APIStatusError, OpenAI

asked = json.load(sys.stdin)
client = OpenAI(base_url=asked["base_url"], api_key=asked["api_key"], max_retries=0)
picture = base64.b64decode(asked["png"])


def refusal(call):
    try:
        call()
    except APIStatusError as error:
        return {"status": error.status_code, "param": error.body["param"], "code": error.body["code"]}
    return None


chat = client.chat.completions.create(
    model=asked["chat"], messages=[{"role": "user", "content": "hi"}], max_completion_tokens=1
)
made = client.images.generate(model=asked["image"], prompt="a fox", size="1024x1024")
edited = client.images.edit(
    model=asked["image"], prompt="snow", image=[("a.png", picture, "image/png"), ("b.png", picture, "image/png")]
)
video = client.videos.create_and_poll(
    model=asked["video"],
    prompt="a boat",
    seconds="8",
    size="1280x720",
    input_reference=("a.png", picture, "image/png"),
    poll_interval_ms=100,
)
content = client.videos.download_content(video.id).read()

print(
    json.dumps(
        {
            "chat": chat.usage.completion_tokens,
            "models": [model.id for model in client.models.list()],
            "model": client.models.retrieve(asked["image"]).object,
            "made": made.data[0].b64_json,
            "edited": edited.data[0].b64_json,
            "video": json.loads(video.to_json()),
            "bytes": base64.b64encode(content[4:8]).decode(),
            "listed": [one.id for one in client.videos.list(limit=1)],
            "refused": refusal(lambda: client.images.generate(model=asked["image"], prompt="x", n=2)),
        }
    )
)
