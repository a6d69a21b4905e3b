"""The official Python client, driven line by line: one JSON object on stdin is one thing to do, one on stdout what came of
it. Usage: python client.py SERVER ARGUMENT..."""

import json
import os
import sys

import anyio
from mcp import Client, StdioServerParameters


def plain(model):
    return json.loads(model.model_dump_json(by_alias=True, exclude_none=True))


async def call(client, todo):
    messages = []

    async def on_progress(progress, total, message):
        messages.append({"progress": progress, "message": message})

    async with anyio.create_task_group() as tasks:

        async def cancel_when_there(name):
            while not os.path.exists(name):
                await anyio.sleep(0.01)
            tasks.cancel_scope.cancel()

        if todo.get("cancel"):
            tasks.start_soon(cancel_when_there, todo["cancel"])
        callback = on_progress if todo.get("progress") else None
        result = await client.call_tool("execute_local", todo["arguments"], read_timeout_seconds=300, progress_callback=callback)
        tasks.cancel_scope.cancel()
        return {"result": plain(result), "progress": messages}
    return {"error": "cancelled"}


async def act(client, todo):
    match todo["do"]:
        case "server":
            return {"result": {"info": plain(client.server_info), "instructions": client.instructions}}
        case "ping":
            return {"result": plain(await client.send_ping())}
        case "tools":
            return {"result": plain(await client.list_tools())}
        case "templates":
            return {"result": plain(await client.list_resource_templates())}
        case "read":
            return {"result": plain(await client.read_resource(todo["uri"]))}
        case "call":
            return await call(client, todo)


async def main():
    server = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:], env=dict(os.environ))
    async with Client(server) as client:
        while line := await anyio.to_thread.run_sync(sys.stdin.readline):
            try:
                answer = await act(client, json.loads(line))
            except Exception as error:  # what the client raises is an answer like any other
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


anyio.run(main)
