"""A class on one server: each student their own account, copy of the course, and limits.

Start it as root: `.venv/bin/jupyterhub -f deploy/jupyterhub/jupyterhub_config.py`.
What a deployment changes goes into a file of its own, which COURSE_HUB_SETTINGS names and which
is read after this one: README.md beside this file lists the settings.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import students  # noqa: E402
from hub_files import private_folder, proxy_command  # noqa: E402

c = get_config()  # noqa: F821  # JupyterHub reads this file with `get_config` defined

ENVIRONMENT = Path(sys.prefix)
STATE = private_folder(Path(os.environ.get("COURSE_HUB_STATE", "/var/lib/attention-course-hub")))
SETTINGS = Path(os.environ.get("COURSE_HUB_SETTINGS", "/etc/attention-course/hub.py"))

# Where: loopback. A web server before it has the certificate and the public address.
c.JupyterHub.bind_url = "http://127.0.0.1:8000"
c.JupyterHub.hub_ip = "127.0.0.1"
c.ConfigurableHTTPProxy.command = proxy_command(HERE)
c.ConfigurableHTTPProxy.pid_file = str(STATE / "proxy.pid")
c.JupyterHub.cookie_secret_file = str(STATE / "cookie_secret")
c.JupyterHub.db_url = f"sqlite:///{STATE / 'hub.sqlite'}"

# Who: accounts of this machine, by their passwords; Unix groups say who may come in.
c.JupyterHub.authenticator_class = "pam"
c.PAMAuthenticator.allowed_groups = {"students", "instructors"}
c.PAMAuthenticator.admin_groups = {"instructors"}
c.PAMAuthenticator.service = "attention-course-hub"  # etc/pam.d: it counts wrong passwords

# What: a server of their own, which begins by bringing their copies of the lectures up to date.
c.JupyterHub.spawner_class = "systemd"
c.SystemdSpawner.unit_name_template = "course-{USERNAME}"
c.SystemdSpawner.default_shell = "/bin/bash"  # accounts that may not log in elsewhere have none
c.Spawner.pre_spawn_hook = students.prepare
c.Spawner.cmd = [str(HERE / "start-server")]
c.Spawner.default_url = "/lab/tree/attention-course/00_start_here.ipynb"
c.Spawner.env_keep = ["LANG", "LC_ALL"]
c.Spawner.environment = {
    "PATH": os.pathsep.join([str(ENVIRONMENT / "bin"), "/usr/local/bin", "/usr/bin", "/bin"]),
    "COURSE_FOLDER": os.environ.get("COURSE_FOLDER", str(HERE.parents[1])),
    "JUPYTER_CONFIG_PATH": str(HERE / "student"),
    # More threads than this slow a small step down, and hold processors that others wait for.
    **dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "2"),
    # A thread that waits sleeps, instead of holding a processor that a neighbour wants: with it,
    # four kernels that trained at once on two busy cores did ten times as much.
    "OMP_WAIT_POLICY": "PASSIVE",
    "TOKENIZERS_PARALLELISM": "false",
}
c.Spawner.start_timeout = 120
c.Spawner.http_timeout = 120

# How much, for each student; students.py has the rest. README.md says how many then fit.
c.SystemdSpawner.mem_limit = "2G"
c.SystemdSpawner.cpu_limit = 2.0
c.JupyterHub.concurrent_spawn_limit = 10

# How long: a server outlives a restart of the hub. One that nobody has used for an hour is stopped;
# its files stay.
c.JupyterHub.cleanup_servers = False
IDLE_SECONDS = 60 * int(os.environ.get("COURSE_IDLE_MINUTES", "60"))
c.JupyterHub.services = [
    {
        "name": "idle-culler",
        "command": [
            sys.executable,
            "-m",
            "jupyterhub_idle_culler",
            f"--timeout={IDLE_SECONDS}",
        ],
    }
]
c.JupyterHub.load_roles = [
    {
        "name": "idle-culler",
        "scopes": ["list:users", "read:users:activity", "read:servers", "delete:servers"],
        "services": ["idle-culler"],
    }
]

if SETTINGS.is_file():
    load_subconfig(str(SETTINGS))  # noqa: F821
elif "COURSE_HUB_SETTINGS" in os.environ:
    raise SystemExit(f"COURSE_HUB_SETTINGS must name a file, got {SETTINGS}")
