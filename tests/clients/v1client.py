"""A v1 client on the official Python SDK: v1client.py AGENT [ARGS...]"""
import asyncio
import os
import sys

from acp import PROTOCOL_VERSION, spawn_agent_process, text_block
from acp.interfaces import Client


class Printing(Client):
    async def session_update(self, session_id, update, **_):
        print("UPD", type(update).__name__)

    async def request_permission(self, options, session_id, tool_call, **_):
        return {"outcome": {"outcome": "selected", "optionId": options[0].option_id}}

    def on_connect(self, conn):
        pass


async def main():
    async with spawn_agent_process(Printing(), *sys.argv[1:]) as (agent, _process):
        hello = await agent.initialize(protocol_version=PROTOCOL_VERSION)
        print("INIT", hello.protocol_version, hello.agent_info)
        session = await agent.new_session(cwd=os.getcwd(), mcp_servers=[])
        print("NEW", session.session_id)
        end = await agent.prompt(session_id=session.session_id, prompt=[text_block("hello")])
        print("STOP", end.stop_reason)


asyncio.run(main())
