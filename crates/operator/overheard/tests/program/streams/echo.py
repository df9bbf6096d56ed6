"""A server of WebSockets that echoes, and its client: `serve PORT`, or `talk URI`."""

import asyncio
import sys

import websockets

SETTINGS = {"compression": None, "max_size": 4 << 20, "ping_interval": None}
# More messages are one side's before the other's: both ways are full at once.
MESSAGES = [bytes([number]) * (number * number * 10) for number in range(120)]


async def echo(socket):
    await socket.send("welcome")
    async for message in socket:
        await socket.send(message)
    assert (socket.close_code, socket.close_reason) == (1000, "all said"), socket.close_code


async def serve(port):
    async with websockets.serve(echo, None, port, **SETTINGS):
        await asyncio.Future()


async def talk(uri):
    async with websockets.connect(uri, **SETTINGS) as socket:
        assert await socket.recv() == "welcome"
        await asyncio.wait_for(await socket.ping(), 10)

        async def say():
            for message in MESSAGES:
                await socket.send(message)

        saying = asyncio.create_task(say())
        for message in MESSAGES:
            assert await socket.recv() == message
        await saying
        await socket.send("as text: ä")
        assert await socket.recv() == "as text: ä"
        await socket.close(1000, "all said")
        assert socket.close_code == 1000
    print("told", sum(map(len, MESSAGES)))


asyncio.run(serve(int(sys.argv[2])) if sys.argv[1] == "serve" else talk(sys.argv[2]))
