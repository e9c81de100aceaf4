# SPDX-License-Identifier: Apache-2.0
"""A load process that posts to `/v1/responses` with `store` set; it speaks the harness's control channel.

python -m corpus.responses --control-in FD --control-out FD
"""

from __future__ import annotations

import argparse
import http.client
import json
from collections.abc import Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any
from urllib.parse import urlsplit

from vllm_soak.engines.channel import Channel
from vllm_soak.engines.host import die_with_controller, serve, watch_controller
from vllm_soak.engines.load import Finished

CLIENTS = 16
TIMEOUT = 120.0


class ResponsesClient:
    """A server's Responses API with the interface of a driver: a request is a thread's, and done when answered.

    Args:
        url: Where the server listens.
    """

    vocab_size = 512

    def __init__(self, url: str) -> None:
        self.address = urlsplit(url)
        self._threads = ThreadPoolExecutor(CLIENTS)
        self._pending: set[Future[Finished]] = set()

    def submit(self, request_id: str, prompt: list[int], output_len: int) -> None:
        """Post one request; its text is the prompt's numbers, different for each.

        All texts are of one length: a CPU engine keeps native memory for every new number of tokens in a batch.
        """
        text = " ".join(f"{token:03d}" for token in prompt)
        self._pending.add(self._threads.submit(self._post, request_id, text, output_len))

    def step(self) -> list[Finished]:
        """Wait for at least one answer.

        Raises:
            RuntimeError: The server refused a request.
        """
        done, self._pending = wait(self._pending, return_when=FIRST_COMPLETED)
        return [one.result() for one in done]

    def busy(self) -> bool:
        """Whether an answer is awaited."""
        return bool(self._pending)

    def facts(self) -> dict[str, Any]:
        """What the load is."""
        return {"client": "http.client", "clients": CLIENTS}

    def _post(self, request_id: str, text: str, output_len: int) -> Finished:
        """One request on a connection of its own: between rounds the server would close an idle one."""
        connection = http.client.HTTPConnection(self.address.hostname or "", self.address.port, timeout=TIMEOUT)
        body = {"input": text, "max_output_tokens": output_len, "store": True}
        try:
            connection.request("POST", "/v1/responses", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            said = answer.read()
        finally:
            connection.close()
        if answer.status != http.client.OK:
            raise RuntimeError(f"the server answered {answer.status}: {said[:300].decode(errors='replace')}")
        return request_id, output_len, True


def main(arguments: Sequence[str] | None = None) -> None:
    """Load the server that the `start` command names until the controller says stop."""
    parser = argparse.ArgumentParser(prog="python -m corpus.responses")
    parser.add_argument("--control-in", type=int, required=True)
    parser.add_argument("--control-out", type=int, required=True)
    given = parser.parse_args(arguments)
    watch_controller(given.control_in)
    die_with_controller()
    channel = Channel(given.control_in, given.control_out)
    start = channel.receive()
    serve(channel, start, ResponsesClient(start["url"]))


if __name__ == "__main__":
    main()
