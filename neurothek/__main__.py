"""`python -m neurothek` is the command line."""

from neurothek.cli.main import main

if __name__ == "__main__":
    main(prog_name="neurothek")
