"""The process that publishes what people wrote on a page: it reads one request, publishes, and says how it went."""

import json
import sys
from pathlib import Path
from typing import BinaryIO

from neurothek.catalog.advice import about
from neurothek.catalog.problems import NeurothekError
from neurothek.catalog.store.warehouse import Warehouse
from neurothek.queries.annotate.annotations import annotate
from neurothek.queries.annotate.lines import read_lines


def main(requests: BinaryIO, answers: BinaryIO) -> None:
    """Publish the annotations of the request {"warehouse": ..., "wait_seconds": ..., "annotations": [...]}.

    The answer is {"problem": ...}: null when all of them are saved, else a sentence that says why none is.
    """
    request = json.loads(requests.read())
    warehouse = Warehouse(Path(request["warehouse"]), wait_seconds=request["wait_seconds"])
    problem: str | None = None
    try:
        annotate(warehouse, read_lines("\n".join(map(json.dumps, request["annotations"])).encode()))
    except NeurothekError as error:
        problem = about(str(error), warehouse.path)
    answers.write(json.dumps({"problem": problem}).encode())


if __name__ == "__main__":
    main(sys.stdin.buffer, sys.stdout.buffer)
