"""Dockerfiles read without Docker: what they come to, and a sentence with its line for what cannot be rebuilt."""

from pathlib import Path

import pytest

from sophron.records.errors import UserError
from sophron.tasks import dockerfile
from sophron.tasks.dockerfile import Command, Copy
from sophron.tasks.run_instruction import Requirements

FOLDER = Path(__file__).parents[1] / "data" / "tasks" / "column-mean"


@pytest.fixture
def recipe(tmp_path):
    def read(text, base="FROM python:3.11-slim\n"):
        (tmp_path / "Dockerfile").write_text(base + text)
        return dockerfile.read(tmp_path / "Dockerfile")

    return read


@pytest.fixture
def refusal(recipe, tmp_path):
    def said(text, base="FROM python:3.11-slim\n"):
        with pytest.raises(UserError) as caught:
            recipe(text, base)
        assert "\n" not in str(caught.value)
        return str(caught.value).removeprefix(f"{tmp_path}/")

    return said


def test_that_of_a_folder_is_read():
    found = dockerfile.read(FOLDER / "environment" / "Dockerfile")
    assert (found.base, found.python, found.workdir, found.folders) == ("python:3.11-slim", "3.11", "/app", ("app",))
    assert found.env["RESULTS"] == "/app"
    copy, command = found.steps
    assert copy == Copy(5, ("data/",), "/app", into=True)
    assert (command.line, command.shell, command.workdir) == (6, "mkdir -p /app/out && chmod 755 /app/out", "/app")


@pytest.mark.parametrize(
    ("image", "python"),
    [
        ("python:3.12", "3.12"),
        ("python:3.13.1-slim-bookworm", "3.13"),
        ("docker.io/library/python:3.9-slim", "3.9"),
        ("ubuntu:24.04", "3.12"),
        ("ubuntu", "3.12"),
        ("debian:bookworm-slim", "3.11"),
        ("debian:13.0-slim", "3.13"),
        ("ghcr.io/laude-institute/t-bench/ubuntu-24-04:20250624", "3.12"),
        ("ghcr.io/laude-institute/t-bench/python-3-13:20250620", "3.13"),
        ("ghcr.io/astral-sh/uv:python3.12-bookworm-slim", "3.12"),
        ("public.ecr.aws/docker/library/python:3.12-slim-bookworm", "3.12"),
        ("docker.io/library/ubuntu:24.04", "3.12"),
        (f"python:3.13-slim-bookworm@sha256:{'0' * 64}", "3.13"),
        ("python:3.12-alpine", ""),
        ("python", ""),
        ("alpine:3", ""),
        ("nvidia/cuda:12", ""),
    ],
)
def test_the_python_of_a_base(image, python):
    assert dockerfile.python_of(image) == python


def test_packages_and_requirements_keep_their_order(recipe):
    found = recipe(
        "WORKDIR /app\nRUN apt-get update && DEBIAN_FRONTEND=noninteractive apt-get -y install --no-install-recommends \\\n"
        "    # a comment inside\n"
        "    git=1:2.39 \\\n"
        "    build-essential && rm -rf /var/lib/apt/lists/*\n"
        "RUN pip install --no-cache-dir numpy==1.26.4 'scipy>=1.11' -r requirements.txt\n"
        "RUN python3 -m pip install --break-system-packages pandas\n"
        "RUN uv pip install --system rich\n"
    )
    assert found.packages == ("git", "build-essential")
    assert found.requirements == (
        Requirements(("numpy==1.26.4", "scipy>=1.11"), ("/app/requirements.txt",)),
        Requirements(("pandas",)),
        Requirements(("rich",)),
    )
    assert found.steps == ()
    assert "Dockerfile:3: rm -rf /var/lib/apt/lists/*: there is no such cache" in found.notes


def test_shell_code_stays_as_it_is(recipe):
    for line in (
        "for i in 1 2 3; do echo $i >> /app/n.txt; done",
        "seq 3 | tee /app/n.txt",
        'echo text="a && b" > x',
        "find . -name x -exec chmod +x {} \\;",
    ):
        (command,) = recipe(f"WORKDIR /app\nRUN {line}\n").steps
        assert command.shell == line


def test_commands_between_installations_are_cut_out(recipe):
    found = recipe("RUN mkdir a && pip install x && echo 'b; c' > a/b && touch a/d\n")
    assert [step.shell for step in found.steps] == ["mkdir a", "echo 'b; c' > a/b && touch a/d"]
    assert found.requirements == (Requirements(("x",)),)


def test_variables_are_filled_in_as_docker_does(recipe):
    found = recipe(
        'ENV A=1 B="two words" PATH=/opt/x/bin:$PATH\nENV OLD a  style\nARG D=data\n'
        "WORKDIR /app\nWORKDIR ${MISSING:-sub}/../$D\nCOPY $D ${A:+there}/\n",
        "ARG V=3.12\nFROM python:${V}\n",
    )
    assert (found.python, found.workdir) == ("3.12", "/app/data")
    assert found.env["B"] == "two words"
    assert found.env["OLD"] == "a  style"
    assert found.env["PATH"].startswith("/opt/x/bin:/usr/local/sbin:")
    assert found.steps == (Copy(8, ("data",), "/app/data/there", into=True),)


def test_variables_of_one_instruction_do_not_see_each_other(recipe):
    assert recipe("ENV A=1\nENV A=2 B=$A\n").env["B"] == "1"


def test_the_last_stage_counts(recipe):
    found = recipe("RUN curl http://a/b\nFROM python:3.12\nCOPY --from=ghcr.io/astral-sh/uv:0.5 /uv /bin/\n")
    assert found.python == "3.12"
    assert found.notes == ("Dockerfile:4: uv is not installed: its calls are those of a stub",)


def test_what_means_nothing_here_is_noted(recipe):
    found = recipe(
        'LABEL a=b\nEXPOSE 80\nUSER root\nENTRYPOINT []\nCMD ["bash"]\nHEALTHCHECK NONE\nSHELL ["/bin/bash", "-c"]\n'
    )
    assert found.notes == (
        "Dockerfile:2: LABEL means nothing without a container",
        "Dockerfile:3: EXPOSE means nothing without a container",
    )


def test_the_script_of_uv_is_a_stub(recipe):
    found = recipe("RUN curl -LsSf https://astral.sh/uv/0.5/install.sh | sh && mkdir /app\n")
    assert [type(step) for step in found.steps] == [Command]
    assert "uv is not installed" in found.notes[0]


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("RUN curl -o x http://a/b", "curl: fetches something while it builds"),
        ("RUN wget -qO- http://a | tar x", "shell code that calls wget"),
        ("RUN git clone http://x", "git clone fetches something"),
        ("RUN pip install git+https://x", "pip installs from git+https://x"),
        ("RUN pip install 'x @ https://y'", "pip installs from"),
        ("RUN pip install ./wheel.whl", "which is not a release"),
        ("RUN pip install -e .", "pip -e is not done here"),
        ("RUN pip install --index-url https://x torch", "pip takes packages from https://x"),
        ("RUN uv sync", "uv sync is not done here"),
        ("RUN apt-get install -y ./x.deb", "installs the file ./x.deb"),
        ("RUN apt-get source x", "apt-get source is not done here"),
        ("RUN useradd bob", "useradd: there is one user"),
        ("RUN service ssh start", "service: no service is started"),
        ("RUN npm install", "npm is not a program that is run here"),
        ("RUN echo x > /etc/hosts", "/etc/hosts is this machine's own"),
        ("RUN cp x /usr/local/bin/x", "/usr/local/bin/x is this machine's own"),
        ("RUN if true; then pip install x; fi", "mixes pip with other shell code"),
        ("RUN cat <<EOF > x", "holds a document (<<)"),
        ("RUN --mount=type=secret,id=x cat x", "--mount=type=secret,id=x is not done here"),
        ("RUN echo 'x", "its quotes do not close"),
        ("USER bob", "bob: there is one user"),
        ('ENTRYPOINT ["x"]', "a program that begins with the container"),
        ("CMD python server.py", "python would run beside the task"),
        ("HEALTHCHECK CMD x", "waits for a service"),
        ('SHELL ["pwsh"]', "is not a shell that is here"),
        ("ADD http://x /app", "fetches http://x"),
        ("ADD x.tar.gz /app", "unpacks x.tar.gz"),
        ("COPY tests /tests", "/tests is hidden from the agent"),
        ("COPY ../x /app", "../x leads out of environment/"),
        ("COPY x /usr/bin/", "/usr/bin is this machine's own"),
        ("COPY --from=builder /a /app", "takes files from builder"),
        ("COPY x", "names no source and target"),
        ("COPY [x /app", "is not a list of texts"),
        ("ONBUILD RUN x", "is not an instruction that is read"),
    ],
)
def test_what_cannot_be_rebuilt_is_refused_by_name(refusal, line, said):
    sentence = refusal(f"WORKDIR /app\n{line}\n")
    assert sentence.startswith(f"Dockerfile:3: {line.split()[0]}: ")
    assert said in sentence


def test_modules_of_debian_are_wheels_since_the_python_of_a_task_does_not_see_those(recipe):
    found = recipe(
        "RUN apt-get install -y python3 python3-pip python-is-python3 python3-yaml python3-pytest git tmux\n"
    )
    assert found.packages == ("git",)
    assert [one.names for one in found.requirements] == [("pyyaml", "pytest")]
    assert "Dockerfile:2: pyyaml: its wheel, in place of Debian's" in found.notes


def test_bases_that_are_not_known_are_refused(refusal):
    assert "alpine:3 is a base that is not known here" in refusal("", "FROM alpine:3\n")
    assert "has no FROM" in refusal("", "RUN true\n")
    assert "Dockerfile:2: is not an instruction" in refusal("123\n")


def test_all_refusals_can_be_had_at_once(tmp_path):
    (tmp_path / "Dockerfile").write_text("FROM python:3.11\nRUN useradd x\nRUN mkdir /app\nUSER x\n")
    found, refusals = dockerfile.examine(tmp_path / "Dockerfile")
    assert [sentence.partition("Dockerfile:")[2][:1] for sentence in refusals] == ["2", "4"]
    assert len(found.steps) == 1
