"""The versions of the package, and of what it writes."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("overheard-lab")
except PackageNotFoundError:  # a source tree that is not installed
    __version__ = "0.0.0"

ROWS_SCHEMA = 1
"""The version of the rows' columns: a column that changes its meaning, name, unit or type raises it."""
