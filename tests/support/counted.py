"""A store in memory that counts what is asked of it: requests, and bytes."""

from typing import Any, ClassVar

import fsspec
from fsspec.implementations.memory import MemoryFileSystem


class CountedStore(MemoryFileSystem):  # type: ignore[misc]  # fsspec has no types
    """The file system in memory as a store behind a network would be read: each call is a request."""

    protocol = "counted"
    requests: ClassVar[list[tuple[str, str, int]]] = []

    @classmethod
    def _strip_protocol(cls, path: str) -> str:
        return str(MemoryFileSystem._strip_protocol(str(path).removeprefix("counted://")))

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        """What stores answer to HEAD."""
        self.requests.append(("info", path, 0))
        content: dict[str, Any] = super().info(path, **options)
        return content

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        """Some bytes of a file, all of which are sent."""
        with MemoryFileSystem._open(self, self._strip_protocol(path), "rb") as file:
            content: bytes = file.getvalue()[start:end]
        self.requests.append(("read", path, len(content)))
        return content

    @classmethod
    def n_bytes(cls) -> int:
        """Bytes that were sent."""
        return sum(size for _, _, size in cls.requests)


fsspec.register_implementation("counted", CountedStore, clobber=True)
