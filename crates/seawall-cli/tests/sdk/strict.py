"""A server that takes only what the providers' own libraries would send: python strict.py PATH/TO/strict

What can go wrong: a codec that our own mock likes and that a provider refuses. So each body is held here to the types of
the providers' Python libraries, with no member beside them and no value of another kind, and each answer is made of their
response types, with all of their members. The program (`crates/e2e/examples/strict.rs`) is given the server's address,
asks in every form that it has, and ends well when it could read every answer. What it sent is counted: a form that is
never sent is not held.
"""

import base64
import collections
import json
import os
import struct
import subprocess
import sys
import threading
import typing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

os.environ["NO_PROXY"] = "127.0.0.1"
# An iterable is looked into when it is read, and nobody here would read it.
typing.Iterable = typing.List

import anthropic.types as a  # noqa: E402
import openai.types as o  # noqa: E402
import openai.types.chat as chat  # noqa: E402
import openai.types.responses as r  # noqa: E402
import openai.types.responses.response_create_params as rp  # noqa: E402
from google.genai import _common, types as g  # noqa: E402
from openai._models import BaseModel as OpenAIModel  # noqa: E402
from pydantic import ConfigDict, TypeAdapter, ValidationError  # noqa: E402
from typing_extensions import is_typeddict  # noqa: E402

for name, module in list(sys.modules.items()):
    if name.startswith(("openai.types", "anthropic.types")):
        for value in list(vars(module).values()):
            if is_typeddict(value):
                value.__pydantic_config__ = ConfigDict(extra="forbid", strict=True, arbitrary_types_allowed=True)


class Content(_common.BaseModel):
    contents: list[g.Content]
    system_instruction: typing.Optional[g.Content] = None
    generation_config: typing.Optional[g.GenerationConfig] = None
    tools: typing.Optional[list[g.Tool]] = None
    tool_config: typing.Optional[g.ToolConfig] = None
    safety_settings: typing.Optional[list[g.SafetySetting]] = None
    cached_content: typing.Optional[str] = None
    labels: typing.Optional[dict[str, str]] = None


class Embed(_common.BaseModel):
    model: str
    content: g.Content
    output_dimensionality: typing.Optional[int] = None
    task_type: typing.Optional[str] = None
    title: typing.Optional[str] = None


class EmbedAll(_common.BaseModel):
    requests: list[Embed]


SCHEMAS = {
    "openai chat": TypeAdapter(chat.completion_create_params.CompletionCreateParamsNonStreaming),
    "openai chat stream": TypeAdapter(chat.completion_create_params.CompletionCreateParamsStreaming),
    "openai responses": TypeAdapter(rp.ResponseCreateParamsNonStreaming),
    "openai responses stream": TypeAdapter(rp.ResponseCreateParamsStreaming),
    "openai embeddings": TypeAdapter(o.EmbeddingCreateParams),
    "anthropic messages": TypeAdapter(a.message_create_params.MessageCreateParamsNonStreaming),
    "anthropic messages stream": TypeAdapter(a.message_create_params.MessageCreateParamsStreaming),
    "gemini content": TypeAdapter(Content),
    "gemini content stream": TypeAdapter(Content),
    "gemini embeddings": TypeAdapter(EmbedAll),
}
SENT = collections.Counter()
TEXT = "A seawall\u2014that is a wall \U0001f30a by the sea."
CITIES = ["Oslo", "Atlantis"]
VECTORS = [[0.5, -0.25, 1.0], [0.0, 2.0, -4.5]]


def dumped(kind, **members):
    """An answer of this type, with every member that the type has."""
    return kind.model_validate(members).model_dump(mode="json", by_alias=True)


def pieces(text):
    return [text[at : at + 7] for at in range(0, len(text), 7)]


# --- OpenAI -----------------------------------------------------------------------------------------------------------


def wants_calls(body):
    return bool(body.get("tools")) and body.get("tool_choice") != "none"


def openai_usage():
    return {
        "prompt_tokens": 31,
        "completion_tokens": 17,
        "total_tokens": 48,
        "prompt_tokens_details": {"cached_tokens": 11},
        "completion_tokens_details": {"reasoning_tokens": 5},
    }


def openai_calls():
    return [
        {"id": f"call_{city}", "type": "function", "function": {"name": "weather", "arguments": json.dumps({"city": city})}}
        for city in CITIES
    ]


def openai_chat(body):
    calls = wants_calls(body)
    message = {"role": "assistant", "content": None if calls else TEXT}
    if calls:
        message["tool_calls"] = openai_calls()
    choices = [
        {"index": index, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
        for index in range(body.get("n", 1))
    ]
    base = {"id": "chatcmpl-1", "created": 1, "model": "m-2026", "object": "chat.completion"}
    return dumped(chat.ChatCompletion, **base, choices=choices, usage=openai_usage())


def openai_chat_stream(body):
    def chunk(choices, usage=None):
        base = {"id": "chatcmpl-1", "created": 1, "model": "m-2026", "object": "chat.completion.chunk"}
        return None, dumped(chat.ChatCompletionChunk, **base, choices=choices, usage=usage)

    def delta(finish=None, **members):
        return chunk([{"index": 0, "delta": members, "finish_reason": finish}])

    yield delta(role="assistant", content="")
    if wants_calls(body):
        calls = openai_calls()
        for index, call in enumerate(calls):
            function = {"name": "weather", "arguments": ""}
            yield delta(tool_calls=[{"index": index, "id": call["id"], "type": "function", "function": function}])
        # Pieces of calls that are made at once may come mixed.
        for index in [0, 1] * 40:
            part = calls[index]["function"]["arguments"][:3]
            calls[index]["function"]["arguments"] = calls[index]["function"]["arguments"][3:]
            if part:
                yield delta(tool_calls=[{"index": index, "function": {"arguments": part}}])
        yield delta("tool_calls")
    else:
        for part in pieces(TEXT):
            yield delta(content=part)
        yield delta("stop")
    assert body["stream_options"] == {"include_usage": True}
    yield chunk([], openai_usage())
    yield None, "[DONE]"


def openai_output(body):
    output = [{"type": "reasoning", "id": "rs_1", "summary": [
        {"type": "summary_text", "text": "Think once."}, {"type": "summary_text", "text": "Think twice."}]}]
    if wants_calls(body):
        for city in CITIES:
            call = {"type": "function_call", "id": f"fc_{city}", "call_id": f"call_{city}", "name": "weather"}
            output.append({**call, "arguments": json.dumps({"city": city}), "status": "completed"})
    else:
        text = {"type": "output_text", "text": TEXT, "annotations": [], "logprobs": []}
        output.append({"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [text]})
    return output


def openai_response(body, status="completed"):
    done = status == "completed"
    usage = {
        "input_tokens": 31,
        "input_tokens_details": {"cached_tokens": 11, "cache_write_tokens": 0},
        "output_tokens": 17,
        "output_tokens_details": {"reasoning_tokens": 5},
        "total_tokens": 48,
    }
    return dumped(
        r.Response, id="resp_1", created_at=1, model="m-2026", object="response", status=status, parallel_tool_calls=True,
        tool_choice="auto", tools=[], output=openai_output(body) if done else [], usage=usage if done else None,
    )


def openai_response_stream(body):
    number = iter(range(10_000))

    def event(kind, **members):
        data = dumped(kind, sequence_number=next(number), **members)
        return data["type"], data

    yield event(r.ResponseCreatedEvent, type="response.created", response=openai_response(body, "in_progress"))
    for index, item in enumerate(openai_output(body)):
        at = {"output_index": index}
        inside = {**at, "item_id": item["id"]}
        empty = {**item, **{key: [] for key in ("summary", "content") if key in item}}
        if "arguments" in item:
            empty["arguments"] = ""
        yield event(r.ResponseOutputItemAddedEvent, type="response.output_item.added", item=empty, **at)
        for nth, part in enumerate(item.get("summary", [])):
            one = {**inside, "summary_index": nth}
            yield event(r.ResponseReasoningSummaryPartAddedEvent, type="response.reasoning_summary_part.added",
                        part={"type": "summary_text", "text": ""}, **one)
            for text in pieces(part["text"]):
                yield event(r.ResponseReasoningSummaryTextDeltaEvent, type="response.reasoning_summary_text.delta",
                            delta=text, **one)
            yield event(r.ResponseReasoningSummaryTextDoneEvent, type="response.reasoning_summary_text.done",
                        text=part["text"], **one)
            yield event(r.ResponseReasoningSummaryPartDoneEvent, type="response.reasoning_summary_part.done", part=part, **one)
        for nth, part in enumerate(item.get("content", [])):
            one = {**inside, "content_index": nth}
            yield event(r.ResponseContentPartAddedEvent, type="response.content_part.added", part={**part, "text": ""}, **one)
            for text in pieces(part["text"]):
                yield event(r.ResponseTextDeltaEvent, type="response.output_text.delta", delta=text, logprobs=[], **one)
            yield event(r.ResponseTextDoneEvent, type="response.output_text.done", text=part["text"], logprobs=[], **one)
            yield event(r.ResponseContentPartDoneEvent, type="response.content_part.done", part=part, **one)
        if "arguments" in item:
            for text in pieces(item["arguments"]):
                yield event(r.ResponseFunctionCallArgumentsDeltaEvent, type="response.function_call_arguments.delta",
                            delta=text, **inside)
            yield event(r.ResponseFunctionCallArgumentsDoneEvent, type="response.function_call_arguments.done",
                        arguments=item["arguments"], name="weather", **inside)
        yield event(r.ResponseOutputItemDoneEvent, type="response.output_item.done", item=item, **at)
    yield event(r.ResponseCompletedEvent, type="response.completed", response=openai_response(body))


def openai_embeddings(body):
    def vector(numbers):
        packed = base64.b64encode(struct.pack(f"<{len(numbers)}f", *numbers)).decode()
        return packed if body.get("encoding_format") == "base64" else numbers

    data = [{"object": "embedding", "index": index, "embedding": vector(VECTORS[index])} for index in (1, 0)]
    return {"object": "list", "model": "e", "data": data, "usage": {"prompt_tokens": 4, "total_tokens": 4}}


# --- Anthropic --------------------------------------------------------------------------------------------------------


def anthropic_usage(output=17):
    return {
        "input_tokens": 20,
        "cache_read_input_tokens": 11,
        "cache_creation_input_tokens": 0,
        "output_tokens": output,
        "output_tokens_details": {"thinking_tokens": 5},
    }


def anthropic_content(body):
    content = [{"type": "thinking", "thinking": "Think once.", "signature": "c2VhbA=="}]
    if bool(body.get("tools")) and body.get("tool_choice", {}).get("type") != "none":
        return content + [
            {"type": "tool_use", "id": f"toolu_{city}", "name": "weather", "input": {"city": city}} for city in CITIES
        ]
    # Two texts that stand side by side are two.
    return content + [{"type": "text", "text": TEXT}, {"type": "text", "text": TEXT}]


def anthropic_message(body):
    content = anthropic_content(body)
    stop = "tool_use" if content[-1]["type"] == "tool_use" else "end_turn"
    return dumped(a.Message, id="msg_1", type="message", role="assistant", model="m-2026", content=content,
                  stop_reason=stop, usage=anthropic_usage())


def anthropic_stream(body):
    message = anthropic_message(body)
    start = {**message, "content": [], "stop_reason": None, "usage": anthropic_usage(1)}
    events = [dumped(a.RawMessageStartEvent, type="message_start", message=start), {"type": "ping"}]
    for index, block in enumerate(message["content"]):
        empties = {"text": "", "thinking": "", "signature": "", "input": {}}
        empty = {key: empties.get(key, value) for key, value in block.items()}
        events.append(dumped(a.RawContentBlockStartEvent, type="content_block_start", index=index, content_block=empty))

        def delta(**members):
            events.append(dumped(a.RawContentBlockDeltaEvent, type="content_block_delta", index=index, delta=members))

        if block["type"] == "text":
            for part in pieces(block["text"]):
                delta(type="text_delta", text=part)
        elif block["type"] == "thinking":
            for part in pieces(block["thinking"]):
                delta(type="thinking_delta", thinking=part)
            delta(type="signature_delta", signature=block["signature"])
        else:
            for part in ["", *pieces(json.dumps(block["input"], separators=(",", ":")))]:
                delta(type="input_json_delta", partial_json=part)
        events.append(dumped(a.RawContentBlockStopEvent, type="content_block_stop", index=index))
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    usage = {"output_tokens": 17, "output_tokens_details": {"thinking_tokens": 5}}
    events.append(dumped(a.RawMessageDeltaEvent, type="message_delta", delta=end, usage=usage))
    events.append(dumped(a.RawMessageStopEvent, type="message_stop"))
    return [(event["type"], event) for event in events]


# --- Gemini -----------------------------------------------------------------------------------------------------------


def gemini_usage():
    return {"prompt_token_count": 31, "candidates_token_count": 12, "thoughts_token_count": 5,
            "cached_content_token_count": 11, "total_token_count": 48}


def gemini_parts(body):
    seal = base64.b64encode(b"seal").decode()
    thought = {"text": "Think once.", "thought": True}
    mode = body.get("toolConfig", {}).get("functionCallingConfig", {}).get("mode")
    if body.get("tools") and mode != "NONE":
        calls = [{"function_call": {"name": "weather", "args": {"city": city}}} for city in CITIES]
        calls[0]["thought_signature"] = seal
        return [thought, *calls]
    return [thought, {"text": TEXT, "thought_signature": seal}]


def gemini_answer(parts, finish, usage=None, candidates=1):
    content = {"role": "model", "parts": parts}
    answer = g.GenerateContentResponse(
        candidates=[{"content": content, "finish_reason": finish, "index": index} for index in range(candidates)],
        usage_metadata=usage, response_id="r1", model_version="m-2026",
    )
    return answer.model_dump(mode="json", by_alias=True, exclude_none=True)


def gemini_whole(body):
    several = body.get("generationConfig", {}).get("candidateCount", 1)
    return gemini_answer(gemini_parts(body), "STOP", gemini_usage(), several)


def gemini_stream(body):
    for part in gemini_parts(body):
        if "text" not in part:
            yield None, gemini_answer([part], None)
            continue
        *firsts, last = pieces(part["text"])
        for text in firsts:
            yield None, gemini_answer([{key: value for key, value in part.items() if key == "thought"} | {"text": text}], None)
        yield None, gemini_answer([part | {"text": last}], None)
    yield None, gemini_answer([{"text": ""}], "STOP", gemini_usage())


# --- The server -------------------------------------------------------------------------------------------------------


def model_lists():
    return {
        "/openai/v1/models": {"object": "list", "data": [
            dumped(o.Model, id="m", object="model", created=1, owned_by="o")]},
        "/anthropic/v1/models": {"has_more": False, "first_id": "m", "last_id": "m", "data": [
            {"type": "model", "id": "m", "display_name": "M", "created_at": "2026-01-01T00:00:00Z"}]},
        "/gemini/v1beta/models": {"models": [
            g.Model(name="models/m", input_token_limit=1).model_dump(mode="json", by_alias=True, exclude_none=True)]},
    }


def answered(path, body):
    """The form of a request, and what makes its answer."""
    streams = body.get("stream") is True
    return {
        "/openai/v1/chat/completions": ("openai chat", openai_chat_stream if streams else openai_chat, streams),
        "/openai/v1/responses": ("openai responses", openai_response_stream if streams else openai_response, streams),
        "/openai/v1/embeddings": ("openai embeddings", openai_embeddings, False),
        "/anthropic/v1/messages": ("anthropic messages", anthropic_stream if streams else anthropic_message, streams),
        "/gemini/v1beta/models/m:generateContent": ("gemini content", gemini_whole, False),
        "/gemini/v1beta/models/m:streamGenerateContent?alt=sse": ("gemini content", gemini_stream, True),
        "/gemini/v1beta/models/e:batchEmbedContents":
            ("gemini embeddings", lambda _: {"embeddings": [{"values": vector} for vector in VECTORS]}, False),
    }[path]


class Strict(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def do_GET(self):
        self.reply(200, "application/json", json.dumps(model_lists()[self.path]))

    def do_POST(self):
        raw = self.rfile.read(int(self.headers["content-length"]))
        try:
            body = json.loads(raw)
            form, answer, streams = answered(self.path, body)
            form += " stream" if streams else ""
            SCHEMAS[form].validate_json(raw, strict=True)
            if form.startswith("anthropic"):
                assert self.headers["anthropic-version"] == "2023-06-01"
            SENT[form] += 1
            if not streams:
                self.reply(200, "application/json", json.dumps(answer(body)))
                return
            events = [
                (f"event: {name}\n" if name else "") + f"data: {data if isinstance(data, str) else json.dumps(data)}\n\n"
                for name, data in answer(body)
            ]
            self.reply(200, "text/event-stream", "".join(events))
        except (AssertionError, KeyError, TypeError, ValueError, ValidationError) as error:
            print(f"REFUSED {self.path}: {raw.decode()}\n{type(error).__name__}: {error}", file=sys.stderr)
            self.reply(400, "application/json", json.dumps({"error": {"message": str(error)[:2_000], "type": "strict"}}))

    def reply(self, status, kind, text):
        data = text.encode()
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def refuses(form, text):
    try:
        SCHEMAS[form].validate_json(text, strict=True)
    except ValidationError:
        return
    raise AssertionError(f"{form} takes {text}, so that it holds nothing")


def main():
    # What holds nothing would pass everything: members that nobody knows, and values of another kind.
    refuses("openai chat", '{"model":"m","messages":[{"role":"user","content":"a","cache_control":{}}]}')
    refuses("openai chat", '{"model":"m","messages":[{"role":"user","content":"a"}],"temperature":"0.7"}')
    refuses("openai chat stream", '{"model":"m","messages":[{"role":"user","content":"a"}]}')
    refuses("openai responses", '{"model":"m","input":"a","max_tokens":1}')
    refuses("anthropic messages", '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":"a"}],"seed":1}')
    refuses("anthropic messages", '{"model":"m","max_tokens":1,"messages":[{"role":"user","content":[{"type":"text"}]}]}')
    refuses("gemini content", '{"contents":[{"role":"user","parts":[{"text":"a","cache":1}]}]}')
    server = ThreadingHTTPServer(("127.0.0.1", 0), Strict)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    program = subprocess.run([sys.argv[1], f"http://127.0.0.1:{server.server_port}"], timeout=120)
    for form in SCHEMAS:
        print(f"{SENT[form]:4} {form}")
    never = [form for form in SCHEMAS if not SENT[form]]
    assert not never, f"never sent: {never}"
    sys.exit(program.returncode)


main()
