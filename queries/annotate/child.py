"""The process that publishes what people wrote on a page: it reads one request, publishes, and says how it went."""

import json
import sys
from pathlib import Path
from typing import Any, BinaryIO

from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.annotate.lines import read_lines


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Publish the annotations of the request {"warehouse": ..., "wait_seconds": ..., "annotations": [...]}.

    The answer is {"error": ...}: null when all of them are saved, else the fields of the error for which none is.
    """
    request = json.loads(requests.read())
    warehouse = Warehouse(Path(request["warehouse"]), wait_seconds=request["wait_seconds"])
    fields: dict[str, Any] | None = None
    try:
        annotate(warehouse, read_lines("\n".join(map(json.dumps, request["annotations"])).encode()))
    except NeurothekError as error:
        fields = error.to_dict()
    answers.write(json.dumps({"error": fields}).encode())


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
