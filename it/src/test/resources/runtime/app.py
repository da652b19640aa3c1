"""An ordinary function for events of all formats."""
import os
import time


def handler(event, context):
    if "Records" in event:
        return {
            "bodies": [record["body"] for record in event["Records"]],
            "id": context.aws_request_id,
            "arn": context.invoked_function_arn,
            "left": context.get_remaining_time_in_millis(),
        }
    path = event.get("rawPath") or event["path"]
    if path == "/fail":
        raise ValueError("no secret")
    if path == "/crash":
        os._exit(3)
    if path == "/hang":
        time.sleep(60)
    if path == "/trace":
        time.sleep(0.02)
        return answer(event, 200, event["headers"]["traceparent"])
    if path == "/pid":
        return answer(event, 200, str(os.getpid()))
    if path == "/sleep":
        time.sleep(0.3)
        return answer(event, 200, str(os.getpid()))
    if path == "/meet":
        meet(os.environ["MEETING"], context.aws_request_id, 4)
        return answer(event, 200, str(os.getpid()))
    if path == "/not-http":
        return [1, 2, 3]
    if path.startswith("/status/"):
        return answer(event, int(path[len("/status/"):]), None)
    response = answer(event, 200, event.get("body"))
    response["isBase64Encoded"] = event.get("isBase64Encoded", False)
    return response


def meet(directory, name, parties):
    """Returns when this number of requests is here concurrently, each in its own process."""
    with open(os.path.join(directory, name), "w"):
        pass
    for _ in range(6000):
        if len(os.listdir(directory)) >= parties:
            return
        time.sleep(0.01)
    raise TimeoutError(f"fewer than {parties} requests were here at once")


def answer(event, status, body):
    """Returns the received values of x-multi and the cookies in x-seen."""
    multi = event.get("multiValueHeaders")
    fields = multi if multi is not None else {name: [value] for name, value in event["headers"].items()}
    fields = {name.lower(): values for name, values in fields.items()}
    cookies = event.get("cookies") or fields.get("cookie", [])
    headers = {
        "content-type": fields.get("content-type", ["application/octet-stream"])[0],
        "x-seen": "|".join(fields.get("x-multi", [])) + " " + "|".join(cookies),
    }
    response = {"statusCode": status, "body": body}
    if multi is not None:
        response["multiValueHeaders"] = {name: [value] for name, value in headers.items()}
        response["multiValueHeaders"]["x-many"] = ["1", "2"]
        response["multiValueHeaders"]["set-cookie"] = ["a=1; Path=/", "b=2"]
    else:
        response["headers"] = headers
        if "version" in event:
            response["cookies"] = ["a=1; Path=/", "b=2"]
        else:
            response["headers"]["set-cookie"] = "a=1; Path=/"
    return response
