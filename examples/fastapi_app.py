"""A chat server for several users: FastAPI, one session for each user, answers streamed as server-sent events.

    pip install undrift anthropic fastapi uvicorn
    export ANTHROPIC_API_KEY=...
    python examples/fastapi_app.py 8000
    curl -N http://127.0.0.1:8000/ann -d "Tell me about refunds."

Each user has a history, a session and a lock of their own. All share one AsyncAnthropic with its connections. undrift
works in a thread, so the event loop stays free for the other users. A real server takes the user from its login.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator

import uvicorn
from anthropic import AsyncAnthropic
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

import undrift

app = FastAPI()
shared = AsyncAnthropic()
settings = undrift.Settings(budget_tokens=8_000)


class Chat:
    """The conversation of one user."""

    def __init__(self, user: str) -> None:
        self.messages = []
        self.lock = asyncio.Lock()  # a second question of the same user waits for the first answer
        self.client = undrift.wrap(shared.with_options(), session=f"chat-{user}", settings=settings)

    async def answer(self, question: str) -> AsyncIterator[str]:
        async with self.lock:
            messages = [*self.messages, {"role": "user", "content": question}]
            request = {"model": "claude-sonnet-4-6", "max_tokens": 4_000, "messages": messages}
            async with self.client.messages.stream(**request) as stream:
                async for text in stream.text_stream:
                    yield f"data: {json.dumps(text)}\n\n"
                reply = await stream.get_final_message()
            self.messages = [*messages, {"role": "assistant", "content": reply.content}]  # only whole turns are kept
            names = ("session", "tokens-before", "tokens-after", "bypass")
            said = {name: stream.response.headers.get(f"x-undrift-{name}") for name in names}
            yield f"event: done\ndata: {json.dumps(said)}\n\n"


chats: dict[str, Chat] = {}


@app.post("/{user}")
async def ask(user: str, request: Request) -> StreamingResponse:
    if user not in chats:
        chats[user] = Chat(user)
    question = (await request.body()).decode()
    return StreamingResponse(chats[user].answer(question), media_type="text/event-stream")


if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="info")
