"""Converts temperatures. An ordinary function for an HTTP API of API Gateway, without any code of the dispatcher."""
import base64
import json
import os
import time


def handler(event, context):
    path = event["rawPath"]
    if path.startswith("/celsius/"):
        return convert(path[len("/celsius/"):])
    if path == "/reverse":
        return reverse(event)
    if path == "/crash":
        os._exit(1)
    return {"statusCode": 404, "body": "there are /celsius/DEGREES, /reverse and /crash\n"}


def convert(text):
    try:
        celsius = float(text)
    except ValueError:
        return answer(400, {"error": f"{text!r} is no number"})
    # The station is slow, like many other services. In this time, the function only waits.
    time.sleep(0.3)
    return answer(200, {"fahrenheit": celsius * 9 / 5 + 32, "process": os.getpid()})


def reverse(event):
    """Reverses bytes. In the events, they are base64, as on Lambda."""
    body = event.get("body", "")
    bytes = base64.b64decode(body) if event.get("isBase64Encoded") else body.encode()
    return {
        "statusCode": 200,
        "headers": {"content-type": "application/octet-stream"},
        "body": base64.b64encode(bytes[::-1]).decode(),
        "isBase64Encoded": True,
    }


def answer(status, value):
    return {
        "statusCode": status,
        "headers": {"content-type": "application/json"},
        "body": json.dumps(value) + "\n",
    }
