"""Fetching from the hub: cache first, only what is needed, and an immediate answer where there is no network."""

import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import huggingface_hub
import pytest
from huggingface_hub import constants

from neurothek.catalog.problems import Failed, NotFound, Refused, Unavailable, Unsupported
from neurothek.ingest.models import hub
from neurothek.ingest.models.checkpoints import find
from tests.support.hub import COMMIT, Hub, serve
from tests.support.models import build, edit_config, to_pickle

# One look-up that may take `PROBE_SECONDS`, and room for a busy machine.
AT_ONCE_SECONDS = 3.0


@pytest.fixture(autouse=True)
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    cache = tmp_path / "cache"
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(cache))
    return cache


@pytest.fixture
def published(tmp_path: Path) -> Path:
    """A model's folder as people publish it: in several formats, with things that nobody here needs."""
    folder = build(tmp_path / "published", "opt", shard_size="60KB")
    for clutter in ("README.md", "pytorch_model.bin", "tf_model.h5", "flax_model.msgpack", "adapter.safetensors"):
        (folder / clutter).write_bytes(b"not for us")
    return folder


@pytest.fixture
def online(published: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    with serve("org/tiny", published) as server:
        point_to(server.url, monkeypatch)
        yield server


def point_to(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "ENDPOINT", url)
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", url + "/{repo_id}/resolve/{revision}/{filename}")


def test_downloads_configuration_tokenizer_and_safetensors_only(online: Hub, published: Path) -> None:
    checkpoint = find("org/tiny")
    shards = [path.name for path in published.glob("model*")]
    assert len(shards) > 2
    expected = ["config.json", "tokenizer.json", "tokenizer_config.json", *shards]
    assert sorted(online.downloaded) == sorted(expected)
    assert (checkpoint.name, checkpoint.revision, checkpoint.source) == ("tiny", COMMIT, "org/tiny")
    # The hub's own hashes, which are its blobs' names, give what hashing the published files gives.
    assert checkpoint.weights_sha256 == find(str(published), name="local").weights_sha256


def test_a_cached_model_is_used_without_asking(online: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    first = find("org/tiny", revision="main")
    online.downloaded.clear()
    point_to("http://127.0.0.1:9", monkeypatch)
    assert find("org/tiny", revision="main") == first
    assert find("org/tiny", revision=COMMIT, name="same").folder == first.folder
    assert online.downloaded == []


def test_a_half_downloaded_model_is_completed(online: Hub) -> None:
    folder = find("org/tiny").folder
    lost = sorted(folder.glob("model-*"))[0]
    lost.unlink()
    online.downloaded.clear()
    find("org/tiny")
    assert lost.is_file()
    assert set(online.downloaded) <= {lost.name}


def test_a_half_downloaded_model_is_no_model_offline(online: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    sorted(find("org/tiny").folder.glob("model-*"))[0].unlink()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable, match="HF_HUB_OFFLINE is set"):
        find("org/tiny")


def test_the_revision_stands_in_the_name(online: Hub) -> None:
    assert find("org/tiny", revision="main").name == "tiny@main"
    assert find("org/tiny", revision="main", name="mine").name == "mine"


def test_the_token_is_sent_to_the_hub(online: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    find("org/tiny")
    assert "Bearer hf_secret" in online.tokens


def test_an_unsupported_model_is_not_downloaded(online: Hub, published: Path) -> None:
    online.files["config.json"] = (edit_config(published, model_type="mamba") / "config.json").read_bytes()
    with pytest.raises(Unsupported, match=r"^org/tiny has the architecture 'mamba', .* opt, phi3, qwen2, qwen3\b"):
        find("org/tiny")
    assert online.downloaded == ["config.json"]


def test_pickles_are_not_downloaded_unless_allowed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = to_pickle(build(tmp_path / "pickled", "gpt2"))
    with serve("org/tiny", folder) as server:
        point_to(server.url, monkeypatch)
        with pytest.raises(Refused, match=r"^org/tiny has .* \(pytorch_model.bin\).*--allow-pickle"):
            find("org/tiny")
        assert server.downloaded == ["config.json"]
        assert find("org/tiny", allow_pickle=True).pickled
        # It is cached now, and still refused without being asked for.
        with pytest.raises(Refused, match=r"has only pickled weights \(pytorch_model\.bin\)"):
            find("org/tiny")


def test_a_model_or_revision_that_does_not_exist(online: Hub) -> None:
    with pytest.raises(Unavailable, match=r"^the hub does not provide the model 'org/none': there is none of that"):
        find("org/none")
    with pytest.raises(Unavailable, match="it has no revision 'step9'"):
        find("org/tiny", revision="step9")


def test_a_broken_download_is_said(online: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    def full_disk(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(hub, "HfApi", lambda: SimpleNamespace(list_repo_files=full_disk))
    with pytest.raises(Failed, match=r"^the download of 'org/tiny' stopped: .*No space left on device; run"):
        find("org/tiny")


@pytest.mark.parametrize("source", ["facebook/opt-125m", "gpt2"])
def test_no_network_is_known_at_once(source: str) -> None:
    began = time.monotonic()
    with pytest.raises(Unavailable, match=f"^the model '{source}' is not a folder, .* cannot be reached .*refused"):
        find(source)
    assert time.monotonic() - began < AT_ONCE_SECONDS


def test_a_network_that_never_answers_is_known_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object, **__: object) -> None:
        time.sleep(30)

    monkeypatch.setattr(huggingface_hub, "get_session", lambda: SimpleNamespace(head=hang))
    began = time.monotonic()
    with pytest.raises(Unavailable, match="no answer within 2 seconds"):
        find("facebook/opt-125m")
    assert time.monotonic() - began < AT_ONCE_SECONDS


def test_offline_mode_asks_nobody(online: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(Unavailable, match="HF_HUB_OFFLINE is set"):
        find("org/tiny")
    assert online.tokens == set()


def test_ids_that_the_hub_allows_to_nobody() -> None:
    with pytest.raises(NotFound, match="there is no model at 'a--b/c'"):
        find("a--b/c")
