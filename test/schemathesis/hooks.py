"""What `npm run test:schemathesis` adds to Schemathesis: where URLs lead, and what may refuse an allowed request."""

import re
import uuid

import schemathesis


@schemathesis.hook
def before_call(ctx, case, kwargs):
    """No callback and no input leaves this machine, and no request reuses the Idempotency-Key of another body."""
    case.body = _on_this_machine(case.body)
    if _is_allowed(case) and "Idempotency-Key" in (case.headers or {}):
        case.headers["Idempotency-Key"] = str(uuid.uuid4())


def _on_this_machine(value):
    if isinstance(value, str):
        return re.sub(r"^https://[^/?#\\]*", "https://127.0.0.1", value)
    if isinstance(value, list):
        return [_on_this_machine(item) for item in value]
    if isinstance(value, dict):
        return {name: _on_this_machine(member) for name, member in value.items()}
    return value


def _is_allowed(case):
    return case.meta is not None and case.meta.generation.mode.is_positive and _headers_match(case)


def _headers_match(case):
    """Schemathesis calls a header allowed that it made without the pattern of its schema, if the pattern needs a dot."""
    sent = case.headers or {}
    described = case.operation.definition.raw.get("parameters", [])
    patterns = {one["name"]: one["schema"]["pattern"] for one in described if "pattern" in one.get("schema", {})}
    return all(re.search(pattern, str(sent[name])) for name, pattern in patterns.items() if name in sent)


# An empty account, a task or model that is not there, a state that does not fit, a limit, and no channel.
MAY_MEET = {402, 404, 409, 429, 503}


@schemathesis.check
def allowed_request_is_accepted(ctx, response, case):
    """Of the refusals with 400, an allowed request may meet those that follow from what no schema can say."""
    if not _is_allowed(case) or response.status_code < 400 or response.status_code in MAY_MEET:
        return
    code, param = _refusal(response)
    if any(re.search(route, case.path) and re.search(rule, f"{code} {param}") for route, rule in BEYOND_SCHEMAS):
        return
    raise AssertionError(f"The document allows this request, but it is refused with {response.status_code} {code} {param}")


def _refusal(response):
    """The code and the field, in the words of each dialect."""
    body = response.json()
    error = body["error"]
    if "jsonrpc" in body:
        data = error.get("data") or {}
        return data.get("code", error["code"]), data.get("param") or ""
    details = error.get("details")
    if isinstance(details, list):
        return details[0]["reason"].lower(), details[0]["metadata"].get("param", "")
    if isinstance(details, dict):
        return details["error_code"], details.get("param") or ""
    return error["code"], error["param"] or ""


CHATS = r"/(completions|messages|count_tokens|responses|input_tokens)$|(Content|countTokens)$"
PICTURES = r"^/v1/(images|videos)|:predict$"

# What no schema can say, or none that clients' generators understand: patterns of the route, and of the code and the field.
BEYOND_SCHEMAS = [
    # The names of members that could change a prototype, at any depth of what a client may choose.
    (r"", r"^invalid_json (__proto__|constructor|prototype)$"),
    # A list may be long, and all lists of a body together have 10,000 objects.
    (CHATS, r"^invalid_json $"),
    # Only the gateway can make a cursor.
    (r"/(tasks|deliveries|ledger|videos)$", r"^invalid_value after$"),
    (r"/models$", r"^invalid_value pageToken$"),
    # The vendors' clients page through their lists in different ways.
    (r"^/v1/models$", r"^unsupported_parameter "),
    # The end of a range lies behind its start, and a time zone has a name of the IANA database.
    (r"/usage$", r"^invalid_value (from|tz)$"),
    # The model is of another type than the route's.
    (r"", r"^model_type_mismatch model$"),
    # A conversation says something, in an order that makes sense, and items without a type are messages.
    (CHATS, r"^(invalid_value|missing_parameter|unsupported_parameter) (messages|input|contents|system)\b"),
    # A field that may be written in two ways is required in one of them.
    (r":\w+$", r"^missing_parameter "),
    # A tool choice names a tool, which stands there once.
    (CHATS, r"^(invalid_value|unsupported_parameter) (tools|tool_choice|toolConfig)\b"),
    # Two settings that are one, or of which one limits or needs the other.
    (CHATS, r"^invalid_value (max_completion_tokens|stream_options|thinking|generationConfig)\b"),
    # What the model of the request does not take. Of the two bodies of a Gemini route one is for its type.
    (CHATS, r"^unsupported_parameter "),
    (CHATS, r"^(context_length_exceeded|invalid_url) "),
    (r":\w+$", r"^invalid_value alt$"),
    # The fields of the model's catalog entry, by its name, and the sizes and clips that it makes.
    (PICTURES, r"^unsupported_parameter "),
    (PICTURES, r"^invalid_value (size|seconds|image|images|input_reference|instances|parameters)\b"),
    (PICTURES, r"^missing_parameter (image|instances)\b"),
    (PICTURES, r"^invalid_url "),
    # A variant has two names.
    (r"/generate$", r"^invalid_value variant$"),
    # What the model does not take together. Of the former platform's fields only some are the model's.
    (r"/generate$", r"^unsupported_parameter "),
    (r"/api/generate$", r"^invalid_value (aspectRatio|imageSize|type|images)$"),
    # Hosts, and bytes that are no picture.
    (r"/generate$", r"^(invalid_url|invalid_callback_url|invalid_image) "),
    (r"/upload$", r"^(invalid_image|invalid_multipart) "),
    (r"/(edits|videos)$", r"^(invalid_image|invalid_multipart) "),
    # What the version of the protocol takes.
    (r"^/mcp$", r"^-32600 "),
    # The task has no callback.
    (r"/redeliver$", r"^invalid_value $"),
]
