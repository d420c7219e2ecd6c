"""Recipes for servers: the library is in the workers that do the work, and where it is not a line names the program."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

GUNICORN = Path(sys.executable).with_name("gunicorn")

NODE = """
const cluster = require("cluster"), http = require("http"), socket = process.argv[2];
if (cluster.isPrimary) {
  if (process.argv[3] === "scrub") delete process.env.LD_PRELOAD;
  let listening = 0, left = 60;
  const ask = () => http.get({ socketPath: socket }, (answer) => {
    answer.resume().on("end", () => (--left > 0 ? ask() : Object.values(cluster.workers).forEach((one) => one.kill())));
  });
  for (let n = 0; n < 2; n++) cluster.fork().on("listening", () => ++listening === 2 && ask());
} else {
  http.createServer((_, answer) => {
    const parts = [];
    for (let n = 0; n < 4000; n++) parts.push(Buffer.alloc(5000 + n, n));
    answer.end(String(Buffer.concat(parts).length));
  }).listen(socket);
}
"""

APP = """
import json

def app(environ, start_response):
    text = json.dumps([{"name": "x" * (600 + n)} for n in range(2000)])
    start_response("200 OK", [("Content-Type", "text/plain")])
    return [str(sum(len(one["name"]) for one in json.loads(text) for _ in range(3))).encode()]
"""

ASK = """
soon() {
  for n in $(seq 600); do if "$@" > soon.log 2>&1; then return; fi; sleep .1; done
  echo "$*: never" >&2; exit 1
}
left() { for file in "$1"*; do if [ -s "$file" ]; then kill "$(cat "$file")"; fi; done; }
page() { curl -sf --compressed --unix-socket job.sock http://job/data.txt; }
ask() { for n in $(seq "$1"); do page > answer; done; }
gone() { ! kill -0 "$1"; }
"""

GUNICORN_SH = (
    ASK
    + """
$1 gunicorn --bind unix:job.sock --workers 2 --pid gunicorn.pid app:app &
trap 'left gunicorn.pid' EXIT
soon page; ask 30
old=$(cat gunicorn.pid); kill -USR2 "$old"; soon test -e gunicorn.pid.2
kill -TERM "$old"; soon gone "$old"; soon page; ask 30
soon test -s gunicorn.pid; new=$(cat gunicorn.pid); kill -TERM "$new"; soon gone "$new"; wait
"""
)

NGINX_CONF = """
{user} daemon off; worker_processes 2; error_log error.log; pid nginx.pid;
events {{ }}
http {{
  access_log off; gzip on; gzip_comp_level 9; gzip_types text/plain; types {{ text/plain txt; }}
  client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;
  server {{ listen unix:job.sock; root {root}; }}
}}
"""

NGINX_SH = (
    ASK
    + """
$1 nginx -p "$PWD/" -c nginx.conf &
trap 'left nginx.pid' EXIT
soon page; ask 20
kill -QUIT "$(cat nginx.pid)"; wait
"""
)

DAEMON_SH = (
    ASK
    + """
nginx -p "$PWD/" -c nginx.conf
trap 'left nginx.pid' EXIT
soon page; ask 3
pid=$(cat nginx.pid); kill -QUIT "$pid"; soon gone "$pid"
"""
)


class Service(NamedTuple):
    """A server that gets requests: its files, the script that runs it, what it needs; and what names its worker.

    plain, scrubbed: arguments of the script; with the latter the workers do not have the library.
    """

    files: dict[str, str]
    script: str
    needs: tuple[str, ...]
    plain: str
    scrubbed: str
    worker: str


SERVICES = {
    "node": Service({"cluster.js": NODE}, 'node cluster.js job.sock "$1"', ("node",), "", "scrub", "node"),
    "gunicorn": Service(
        {"app.py": APP}, GUNICORN_SH, ("curl", str(GUNICORN)), "", "env -u LD_PRELOAD", "gunicorn|python"
    ),
    "nginx": Service({"nginx.conf": NGINX_CONF}, NGINX_SH, ("curl", "nginx"), "", "env -u LD_PRELOAD", "nginx"),
}


@pytest.fixture(params=SERVICES)
def service(request: pytest.FixtureRequest, tmp_path: Path) -> Service:
    """A service whose files lie in the folder `work`."""
    found = SERVICES[request.param]
    lacking = [one for one in found.needs if shutil.which(one, path=f"{os.environ['PATH']}:/usr/sbin") is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    work = tmp_path / "work"
    work.mkdir()
    user = "user root;" if os.geteuid() == 0 else ""
    for name, text in found.files.items():
        (work / name).write_text(text.format(user=user, root=work) if name == "nginx.conf" else text)
    (work / "data.txt").write_text("".join(f"{n * n} is a line of text\n" for n in range(100_000)))
    (work / "job.sh").write_text(found.script)
    return found


@pytest.fixture
def daemon(service: Service, tmp_path: Path) -> Path:
    """The folder of nginx, which makes itself a daemon, and whose script waits for its end."""
    work = tmp_path / "work"
    (work / "nginx.conf").write_text((work / "nginx.conf").read_text().replace("daemon off;", ""))
    (work / "job.sh").write_text(DAEMON_SH)
    return work


@pytest.mark.thorough
@pytest.mark.parametrize("service", ["nginx"], indirect=True)
@pytest.mark.parametrize(
    "way", ["run --wait default", "record --wait --json -o t.hst", "compare --rounds 1 --lib glibc --lib default"]
)
def test_a_script_sees_that_its_daemon_has_ended(
    way: str, daemon: Path, tmp_path: Path, shell_environment: dict[str, str]
) -> None:
    done = heapsmith(daemon, shell_environment, *way.split(), "--", "bash", "-eu", "job.sh")
    assert done.returncode == 0, done.stderr
    assert "went on after the command's end" not in done.stderr + done.stdout
    assert "never" not in done.stderr
    if way.startswith("record"):
        found = json.loads(done.stdout)
        assert found["running"] == []
        assert any(one["program"][0].startswith("nginx") and one["events"] > 1000 for one in found["traces"])


def heapsmith(work: Path, environment: dict[str, str], *words: str) -> "subprocess.CompletedProcess[str]":
    """A command in the folder of a service."""
    scripts = f"{GUNICORN.parent}:{environment['PATH']}"
    return subprocess.run(
        ["heapsmith", *words],
        cwd=work,
        env=environment | {"PATH": scripts, "HOME": str(work)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def run_under(work: Path, environment: dict[str, str], argument: str) -> str:
    """What `heapsmith run` says of the service on standard error."""
    done = heapsmith(work, environment, "run", "default", "--", "bash", "-eu", "job.sh", argument)
    assert done.returncode == 0, done.stderr
    return done.stderr


@pytest.mark.thorough
def test_a_line_names_the_worker_that_runs_without_the_library(
    service: Service, tmp_path: Path, shell_environment: dict[str, str]
) -> None:
    """node whose primary deletes the variable; gunicorn, which a signal starts anew, and nginx, both behind `env`."""
    said = run_under(tmp_path / "work", shell_environment, service.plain)
    assert "does not serve" not in said
    said = run_under(tmp_path / "work", shell_environment, service.scrubbed)
    lines = [line for line in said.splitlines() if "does not serve" in line]
    assert len(lines) == 1, said
    assert any(f"does not serve {name} (" in lines[0] for name in service.worker.split("|")), lines
    assert "started without LD_PRELOAD" in lines[0]
