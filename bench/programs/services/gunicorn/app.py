"""A page of 2,000 objects, as JSON that is made and read."""

import json


def app(environ, start_response):
    text = json.dumps([{"name": "x" * (600 + n)} for n in range(2000)])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(sum(len(one["name"]) for one in json.loads(text) for _ in range(3))).encode()]
