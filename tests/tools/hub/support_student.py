"""A student in front of a browser, without the browser: the login form, cookies, a kernel."""

import re

import httpx

from tests.tools.hub.support_hub import PASSWORD, Hub, wait_for
from tests.tools.hub.support_kernel import Kernel

NOTEBOOKS = "attention-course"


class Student:
    """One student's session with the hub."""

    def __init__(self, hub: Hub, name: str) -> None:
        self.hub, self.name = hub, name
        self.client = httpx.Client(base_url=hub.url, follow_redirects=True, timeout=120)
        self.kernels: list[StudentKernel] = []

    def __enter__(self) -> "Student":
        return self

    def __exit__(self, *error: object) -> None:
        for kernel in self.kernels:
            kernel.socket.close()
        self.client.close()

    def log_in(self, password: str = PASSWORD) -> httpx.Response:
        """Fill in the login form; the hub then starts the server."""
        form = self.client.get("/hub/login")
        token = re.search(r'name="_xsrf" value="([^"]+)"', form.text)
        assert token, "the login form has a token against forged requests"
        data = {"username": self.name, "password": password, "_xsrf": token[1]}
        return self.client.post("/hub/login", data=data)

    def open_server(self) -> None:
        """Open JupyterLab, as a browser does that waits on the hub's page."""

        def is_open() -> bool:
            answer = self.client.get(f"/user/{self.name}/lab")
            if "Spawn failed" in answer.text:
                raise RuntimeError(f"{self.name}'s server did not start:\n{self.hub.log()[-3000:]}")
            here = answer.url.path.startswith(f"/user/{self.name}/lab")
            return here and answer.status_code == 200

        self.client.get(f"/hub/spawn/{self.name}")
        wait_for(is_open, f"the start of {self.name}'s server", 120)

    def cookies(self, path: str) -> dict[str, str]:
        """Return the cookies that a browser sends to `path`; the longest match wins."""
        jar = sorted(self.client.cookies.jar, key=lambda cookie: len(cookie.path))
        return {cookie.name: cookie.value or "" for cookie in jar if path.startswith(cookie.path)}

    def api(self, method: str, path: str, owner: str = "", **more) -> httpx.Response:
        """Ask a student's server, one's own unless `owner` says whose, as JupyterLab does."""
        place = f"/user/{owner or self.name}/"
        headers = {"X-XSRFToken": self.cookies(place).get("_xsrf", ""), "Referer": self.hub.url}
        return self.client.request(method, f"{place}api/{path}", headers=headers, **more)

    def start_kernel(self, notebook: str = "scratch.ipynb") -> "StudentKernel":
        """Start a kernel for a notebook of the course's copy."""
        asked = {
            "path": f"{NOTEBOOKS}/{notebook}",
            "name": notebook,
            "type": "notebook",
            "kernel": {"name": "python3"},
        }
        answer = self.api("POST", "sessions", json=asked)
        assert answer.status_code == 201, answer.text
        return self.connect(answer.json()["kernel"]["id"])

    def connect(self, kernel: str, owner: str = "") -> "StudentKernel":
        """Connect to a kernel, one's own unless `owner` says whose."""
        place = f"/user/{owner or self.name}/api/kernels/{kernel}/channels"
        cookies = self.cookies(f"/user/{self.name}/")
        cookie = "; ".join(f"{name}={value}" for name, value in cookies.items())
        address = self.hub.url.replace("http", "ws", 1) + place
        self.kernels.append(StudentKernel(address, cookie=cookie, student=self, kernel=kernel))
        return self.kernels[-1]


class StudentKernel(Kernel):
    """A kernel of a student's server, through the hub."""

    def __init__(self, address: str, *, cookie: str, student: Student, kernel: str) -> None:
        super().__init__(address, cookie=cookie)
        self.student, self.id = student, kernel

    def stop(self) -> None:
        """Shut the kernel down."""
        self.socket.close()
        self.student.api("DELETE", f"kernels/{self.id}")
