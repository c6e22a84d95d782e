"""Visits to a page of a server without a browser: what a browser asks and what it is sent."""

from urllib.parse import urlencode

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Origin, Subprotocol


def run_page(base: str, page: str, **parameters: str) -> str:
    """All that a page sends to a browser that opens it, as text."""
    place = base.removeprefix("http://")
    asked = BackMsg()
    asked.rerun_script.query_string = urlencode(parameters)
    asked.rerun_script.page_name = page
    said = []
    stream = f"ws://{place}/_stcore/stream"
    with connect(stream, origin=Origin(base), subprotocols=[Subprotocol("streamlit")], max_size=None) as session:
        session.send(asked.SerializeToString())
        while True:
            message = ForwardMsg()
            message.ParseFromString(session.recv(timeout=60, decode=False))
            said.append(str(message))
            if message.WhichOneof("type") == "script_finished":
                return "\n".join(said)
