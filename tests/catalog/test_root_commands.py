"""How every command ends: one line on stderr where it was written wrongly, and quietly where its reader has left."""

import pytest
from click.testing import CliRunner

import neurothek


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["models", "--formt", "csv"], "`neurothek models` has no option --formt; nearest: --format"),
        (["sql", "--fromat", "csv", "from models"], "`neurothek sql` has no option --fromat; nearest: --format"),
        (["sql", "from models", "--sekonds=3 4"], "`neurothek sql` has no option --sekonds; nearest: --seconds"),
        (["--quite", "models"], "`neurothek` has no option --quite"),
        (["serch", "school"], "there is no command serch; nearest: search"),
        (["neuron"], "missing argument 'ADDRESS'"),
        (["neuron", "a/L0N0", "b/L0N0"], "got unexpected extra argument (b/L0N0)"),
        (["search", "school", "--side", "huge"], "invalid value for '--side'"),
    ],
)
def test_what_was_written_wrongly_is_one_line(arguments: list[str], told: str) -> None:
    result = CliRunner().invoke(neurothek.main, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    (line,) = result.stderr.splitlines()
    assert line.startswith(f"Error: {told}")
    assert " --help`" in line


def test_a_word_of_a_stranger_cannot_write_on_the_terminal() -> None:
    """An option as an error quotes it, with what would clear the screen and what would turn the text around."""
    result = CliRunner().invoke(neurothek.main, ["models", "--a\x1b[2J\u202e"])
    assert "has no option --a\\x1b[2J\\u202e; see" in result.stderr
    assert result.stderr.rstrip("\n").isprintable()
