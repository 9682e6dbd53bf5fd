"""Where the lectures' code was: a reader's copy made before it moved still finds it here."""

from lectures import __path__ as __path__
