"""`python -m agentstate_reducer`: see `explain --help`."""

import sys

from ._explain import main

if __name__ == "__main__":  # pragma: no branch
    sys.exit(main())
