"""The folders of the reader's home in which JupyterLab and its kernels keep files of their own.

    python -m tools.setup.home

prints those that refuse to be written to, by the environment variable that names another. It needs
the environment's Python: `jupyter_core` knows where Jupyter's folders are on each system.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path


def folders() -> dict[str, list[str]]:
    """Return the folders that are written to, by the variable that names another for them."""
    from jupyter_core.paths import jupyter_config_dir, jupyter_data_dir

    kept = "~/.config", "~/.cache"
    for_plots = [f"{each}/matplotlib" for each in kept] if sys.platform == "linux" else []
    return {
        "JUPYTER_DATA_DIR": [jupyter_data_dir()],
        "JUPYTER_CONFIG_DIR": [jupyter_config_dir()],
        "IPYTHONDIR": [os.environ.get("IPYTHONDIR") or "~/.ipython"],
        "MPLCONFIGDIR": list(filter(None, [os.environ.get("MPLCONFIGDIR")])) or for_plots,
        "TRITON_CACHE_DIR": [os.environ.get("TRITON_CACHE_DIR") or "~/.triton/cache"],
    }


def refusal(folder: str) -> str:
    """Return why nothing can be written in a folder, which is made if need be; "" if it can."""
    path = Path(os.path.expanduser(folder))
    if not path.is_absolute():
        return "this account has no home folder"
    try:
        path.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=path):
            return ""
    except OSError as error:
        return error.strerror or str(error)


if __name__ == "__main__":
    tried = {name: {each: refusal(each) for each in named} for name, named in folders().items()}
    refused = {name: [(k, v) for k, v in each.items() if v] for name, each in tried.items()}
    print(json.dumps({name: each[0] for name, each in refused.items() if each}))
