"""``python -m amongst``: the command line, where the script ``amongst`` is not on the path."""

from amongst.cli import main

if __name__ == "__main__":
    main()
