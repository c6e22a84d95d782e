"""What a published catalog of a million made-up neurons costs whoever asks it: requests and bytes of searches."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory

import neurothek
from benchmarks.bench_dashboard import SHAPES, build
from benchmarks.timing import machine, publish_block, table
from tests.support.counted import CountedStore

MOST_SHARE = 0.02
"""Of a catalog's bytes, what one search should read."""

MOST_REQUESTS = 200
"""Wanted of ten searches in a row, the first of them in a new process."""

WORDS = tuple(f"token{number}" for number in (77, 4711, 123, 49_000, 31_415, 2_718, 16_180, 999, 20_000, 40_404))


def main() -> None:
    """Take the figures and publish them."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "large.duckdb"
        build(path)
        started = time.perf_counter()
        published = neurothek.open(path).publish(to=Path(folder) / "catalog")
        seconds = time.perf_counter() - started
        store = CountedStore()
        store.put(str(Path(folder) / "catalog"), "/million", recursive=True)
        rows = [measured(word, published.n_bytes) for word in WORDS]
    n_requests, n_bytes = sum(row[1] for row in rows), sum(row[2] for row in rows)
    n_neurons = sum(layers * d_ffn for layers, d_ffn in SHAPES)
    is_reached = rows[0][2] <= MOST_SHARE * published.n_bytes and n_requests <= MOST_REQUESTS
    shown = [
        ("first search", rows[0]),
        ("second search", rows[1]),
        ("all ten", ("", n_requests, n_bytes, sum(row[3] for row in rows))),
    ]
    text = f"""## Catalogs

{n_neurons:,} made-up neurons of {len(SHAPES)} models, published without texts in {seconds:.0f} s:
{published.n_bytes / 1e6:,.0f} MB in {len(published.files)} files. Searches for a word, one after the other, by a
process that knows nothing of the catalog; a request is a range of bytes, or a question about a file's size. Wanted are
at most {MOST_SHARE:.0%} of the bytes for the first, and {MOST_REQUESTS} requests for all ten: {
        "both are reached" if is_reached else "not reached"
    }. The file `neuron_lines`, from which
searches take what stands beside neurons, is {
        published.files["neuron_lines/rows.parquet"].n_bytes / published.n_bytes:.0%} of the bytes.

{
        table(
            ("", "requests", "MB", "of the catalog", "seconds, without a network"),
            [
                (name, str(row[1]), f"{row[2] / 1e6:.1f}", f"{row[2] / published.n_bytes:.2%}", f"{row[3]:.2f}")
                for name, row in shown
            ],
        )
    }

{machine()}
"""
    publish_block("catalogs", text)


def measured(word: str, n_bytes: int) -> tuple[str, int, int, float]:
    """Word, requests, bytes and seconds of a search."""
    CountedStore.requests.clear()
    started = time.perf_counter()
    found = neurothek.open("counted://million").search(word, limit=20)
    seconds = time.perf_counter() - started
    assert found.neurons.height == 20
    return word, len(CountedStore.requests), CountedStore.n_bytes(), seconds


if __name__ == "__main__":
    main()
