"""What can be wrong with a model: where it lies, its files, its tokenizer."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from neurothek.catalog.errors import NeurothekError

NAMES_SHOWN = 3
LONGEST_NAME = 200
_SHOWN_OF_A_NAME = 40


def shortened(name: str) -> str:
    """A name, or the beginning of one that is too long to be shown."""
    return name if len(name) <= LONGEST_NAME else f"{name[:_SHOWN_OF_A_NAME]}..."


def _limit(name: str) -> str:
    return f", {LONGEST_NAME} at most and not {len(name)}" if len(name) > LONGEST_NAME else ""


def _meant(source: str, known: Sequence[str]) -> str:
    """The names that `source` may be a slip of the pen for, as a question."""
    near = get_close_matches(source.rpartition("/")[2], known, n=NAMES_SHOWN, cutoff=0.75)
    return f"did you mean {' or '.join(near)}? If not, " if near else ""


# Finding a model


class ModelMissing(NeurothekError):
    """A path that names no folder."""

    def __init__(self, source: str, known: Sequence[str] = ()) -> None:
        super().__init__(
            f"there is no model at {source!r}: no such folder exists; {_meant(source, known)}"
            "give a folder with config.json and weights, or a hub id such as facebook/opt-125m"
        )


class ModelIsFile(NeurothekError):
    """A path that names a file, or what is none, where a folder is needed."""

    def __init__(self, source: str, found: str = "a file") -> None:
        super().__init__(
            f"{source!r} is {found}, but a model is a folder with config.json and weights; give its folder"
        )


class ModelUnreachable(NeurothekError):
    """A model that is not on this machine while the hub cannot be asked."""

    def __init__(self, source: str, reason: str, known: Sequence[str] = ()) -> None:
        super().__init__(
            f"the model {source!r} is not a folder, not a shipped model and not complete in the local hub cache, "
            f"and the hub cannot be reached ({reason}); {_meant(source, known)}go online, or give a folder"
        )


class ModelNotOnHub(NeurothekError):
    """A hub id that the hub does not show to this person."""

    def __init__(self, source: str, problem: str, known: Sequence[str] = ()) -> None:
        super().__init__(
            f"the hub does not provide the model {source!r}: {problem}; {_meant(source, known)}"
            "check the spelling, or set HF_TOKEN if the model is private or gated"
        )


class ModelDownloadFailed(NeurothekError):
    """A download that broke off."""

    def __init__(self, source: str, problem: str) -> None:
        super().__init__(
            f"the download of {source!r} stopped: {problem}; run the same command again, finished files are kept"
        )


class RevisionOfFolder(NeurothekError):
    """A revision asked of something that has none."""

    def __init__(self, source: str, revision: str) -> None:
        super().__init__(
            f"{source!r} is a folder on this machine and has no revision {revision!r}; "
            "omit the revision, or give a hub id"
        )


class RevisionTwice(NeurothekError):
    """Two revisions asked of one repository."""

    def __init__(self, source: str, revision: str) -> None:
        super().__init__(
            f"{source!r} already names a revision, but --revision {revision!r} was given too; give only one, as"
            " REPO@REVISION for each model or as --revision for all"
        )


class ModelNameInvalid(NeurothekError):
    """A name that the warehouse does not take."""

    def __init__(self, name: str, source: str, suggestion: str) -> None:
        super().__init__(
            f"{shortened(name)!r} cannot be a model's name: letters, digits and . _ @ + - are allowed{_limit(name)}; "
            f"give one yourself, as in {suggestion}={source}"
        )


# What lies in a model's folder


class ModelFileUnfit(NeurothekError):
    """Something in a model's folder that is not a readable file."""

    def __init__(self, path: Path, problem: str) -> None:
        super().__init__(f"{path} {problem}; put the original file there, or remove it")


class ConfigMissing(NeurothekError):
    """A folder without config.json."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"{folder} has no config.json, so it is not a model; give the folder that save_pretrained wrote"
        )


class ConfigInvalid(NeurothekError):
    """A config.json that describes no model."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"config.json in {folder} does not describe a model: {problem}; restore the original file")


class LabelInvalid(NeurothekError):
    """A config.json that says a family, a variant or a number of tokens that is none."""

    def __init__(self, folder: Path, name: str, value: object, *, way: str) -> None:
        super().__init__(f"config.json in {folder} has the invalid {name} {value!r:.80} under neurothek; {way}")


class ArchitectureUnsupported(NeurothekError):
    """A model of a family that is not known here."""

    def __init__(self, where: str, found: str, supported: Sequence[str]) -> None:
        super().__init__(
            f"{where} has the architecture {found}, which is not supported; supported are {', '.join(supported)}"
        )


class MaskedModel(ArchitectureUnsupported):
    """A model of an unknown family that fills in masked tokens."""

    def __init__(self, where: str, found: str, masked: Sequence[str], causal: Sequence[str]) -> None:
        NeurothekError.__init__(
            self,
            f"{where} contains a masked language model ({found}), which is not supported; supported masked models are "
            f"{', '.join(masked)}, and causal ones are {', '.join(causal)}",
        )


class ConfigUnsupported(NeurothekError):
    """A model of a supported family in a shape that is not supported."""

    def __init__(self, where: str, found: str, *, way: str, architecture: str = "") -> None:
        named = f"the {architecture} model in {where}" if architecture else where
        super().__init__(f"{named} has {found}, which is not supported; {way}")


class WeightsMissing(NeurothekError):
    """A folder without weight files, or with a part of them."""

    def __init__(self, folder: Path, missing: str) -> None:
        super().__init__(f"{folder} lacks {missing}; copy or download all of the model's weights")


class WeightsPickled(NeurothekError):
    """Weights that exist only as pickles."""

    def __init__(self, where: str, file: str) -> None:
        super().__init__(
            f"{where} has only pickled weights ({file}), which are not read by default; "
            "give a revision with safetensors, or add --allow-pickle if you trust the author"
        )


class WeightsUnreadable(NeurothekError):
    """A weight file that cannot be read."""

    def __init__(self, file: Path, problem: str) -> None:
        super().__init__(f"the weights in {file} cannot be read: {problem}; copy or download the file again")


class WeightsMismatch(NeurothekError):
    """Weights that are not those config.json describes."""

    def __init__(self, folder: Path, problem: str, examples: Sequence[str], *, fields: Sequence[str] = ()) -> None:
        shown = ", ".join(examples[:NAMES_SHOWN]) + (", ..." if len(examples) > NAMES_SHOWN else "")
        said = f", which says {' and '.join(fields)}" if fields else ""
        super().__init__(
            f"the weights in {folder} contradict its config.json{said}: {len(examples)} {problem} ({shown}); "
            "give the folder of one unmodified model"
        )


class WeightsFormatUnsupported(NeurothekError):
    """Weights in a number format that is not measured."""

    def __init__(self, folder: Path, examples: Sequence[str], supported: Sequence[str]) -> None:
        shown = ", ".join(examples[:NAMES_SHOWN]) + (", ..." if len(examples) > NAMES_SHOWN else "")
        super().__init__(
            f"the weights in {folder} are in an unsupported number format ({shown}); "
            f"give the model before quantization, in {', '.join(supported[:-1])} or {supported[-1]}"
        )


class ModelQuantized(NeurothekError):
    """A model whose config.json says that its weights are quantized."""

    def __init__(self, where: str, method: object) -> None:
        named = f"by {method}" if isinstance(method, str) else "by an unnamed method"
        super().__init__(
            f"config.json of {where} says that its weights are quantized {named}, which is not supported; "
            "give the model before quantization"
        )


class WeightsNotFinite(NeurothekError):
    """Weights with NaN or infinity."""

    def __init__(self, file: Path, tensor: str) -> None:
        super().__init__(
            f"the tensor {tensor} in {file} contains NaN or infinity, so measurements from it would be meaningless; "
            "restore the original weights"
        )


class MeasurementOverflow(NeurothekError):
    """Weights that are finite, and numbers measured from them that are not."""

    def __init__(self, model: str, job: str, column: str, dtype: str) -> None:
        way = "measure in float32" if dtype != "float32" else "restore the original weights"
        super().__init__(
            f"{job} of {model} cannot be measured: the weights are so large that {column} overflows in {dtype}; its"
            f" staged rows were deleted; {way}"
        )


# Running a model


class SequenceTooLong(NeurothekError):
    """A sequence longer than the model's position table."""

    def __init__(self, length: int, context_length: int) -> None:
        super().__init__(
            f"sequences of {length} tokens are too long for a model that reads {context_length}; "
            f"use a sequence length of at most {context_length}"
        )


# Tokenizers


class TokenizerMissing(NeurothekError):
    """A folder without any of the tokenizer files that are looked for."""

    def __init__(self, folder: Path, file: str | None = None) -> None:
        wanted = "its tokenizer.json (or vocab.json and merges.txt)" if file is None else "it"
        super().__init__(f"{folder} has no {file or 'tokenizer'}: put {wanted} beside the weights")


class TokenizerUnreadable(NeurothekError):
    """Tokenizer files that do not make a tokenizer."""

    def __init__(self, folder: Path, problem: str) -> None:
        super().__init__(f"the tokenizer of {folder} cannot be read: {problem}; save it again as tokenizer.json")


class TokenizerAmbiguous(NeurothekError):
    """A tokenizer in which an id stands for two pieces."""

    def __init__(self, name: str, token_id: int, pieces: Sequence[str]) -> None:
        super().__init__(
            f"the tokenizer of {name} gives the id {token_id} to {' and '.join(map(repr, pieces[:2]))}; "
            "put the tokenizer that the model was trained with in its folder"
        )


class TokenizerEmpty(NeurothekError):
    """A tokenizer without an ordinary token, or with one token alone, beside which none can be listed."""

    def __init__(self, name: str, *, is_special: bool) -> None:
        found = "only special tokens" if is_special else "only one token"
        super().__init__(f"the tokenizer of {name} has {found}: check that its vocabulary was saved")


class MaskMissing(NeurothekError):
    """A masked model whose tokenizer has no token to mask with."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"shortcuts of a masked model are fitted where a token is masked, but the tokenizer of {name} has no mask"
            " token; put the tokenizer that the model was trained with in its folder"
        )


class DeviceMissing(NeurothekError):
    """A device that this machine, or this PyTorch, does not have."""

    def __init__(self, device: str) -> None:
        super().__init__(
            f"the device {device!r} is not available: use --device cpu, or install a PyTorch build that supports it"
        )


class TokenizerTooLarge(NeurothekError):
    """A tokenizer with ids that the unembedding has no row for."""

    def __init__(self, name: str, asked: int, found: int, beyond: Sequence[str]) -> None:
        more = ", ..." if len(beyond) > NAMES_SHOWN else ""
        shown = ", ".join(f"{shortened(piece)!r}" for piece in beyond[:NAMES_SHOWN]) + more
        super().__init__(
            f"the tokenizer of {name} has ids up to {asked - 1}, but the model's unembedding has {found} rows,"
            f" none for {shown}:"
            " put the model's own tokenizer beside its weights, or take these tokens out of it"
        )
