"""``python -m hkc.cli``."""

import sys

from hkc.cli.main import main

sys.exit(main())
