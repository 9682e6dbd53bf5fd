"""How a student's own server runs its kernels."""

c = get_config()  # noqa: F821  # Jupyter reads this file with `get_config` defined

# Sockets in a folder that only the student may enter: on a TCP port of a shared machine, anyone
# logged in could listen to what a kernel prints. JupyterLab's debugger opens two such ports, and
# lets whoever connects run code: labconfig/page_config.json beside this file leaves it out.
c.ConnectionFileMixin.transport = "ipc"

# A kernel holds its lecture's arrays for as long as it lives. One that has rested this long is
# stopped, also where its tab is still open; the notebook and its outputs stay.
c.MappingKernelManager.cull_idle_timeout = 45 * 60
c.MappingKernelManager.cull_interval = 2 * 60
c.MappingKernelManager.cull_connected = True

# Nothing of what a lecture needs; each costs memory or asks the network.
c.ServerApp.jpserver_extensions = {"jupyter_lsp": False}
c.LabApp.extension_manager = "readonly"
