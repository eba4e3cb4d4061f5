"""A chat server for several users: FastAPI, one session for each user, answers streamed as server-sent events.

    pip install undrift anthropic fastapi uvicorn
    export ANTHROPIC_API_KEY=...
    python examples/fastapi_app.py 8000
    curl -N http://127.0.0.1:8000/ann -d "Tell me about refunds."

All users share one managed client; a header of each request names the user's session, and the provider never sees it.
undrift works in a thread, so the event loop stays free for the other users. A real server takes the user from its login.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from urllib.parse import quote

import uvicorn
from anthropic import AsyncAnthropic
from fastapi import FastAPI, Request
from fastapi.responses import StreamingResponse

import undrift

app = FastAPI()
client = undrift.wrap(AsyncAnthropic(), settings=undrift.Settings(budget_tokens=8_000))


class Chat:
    """The conversation of one user."""

    def __init__(self, user: str) -> None:
        self.header = {"x-undrift-session": f"chat-{quote(user)}"}  # a header takes plain letters only
        self.messages = []
        self.lock = asyncio.Lock()  # a second question of the same user waits for the first answer

    async def answer(self, question: str) -> AsyncIterator[str]:
        async with self.lock:
            messages = [*self.messages, {"role": "user", "content": question}]
            request = {"model": "claude-sonnet-4-6", "max_tokens": 4_000, "messages": messages}
            async with client.messages.stream(**request, extra_headers=self.header) as stream:
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
