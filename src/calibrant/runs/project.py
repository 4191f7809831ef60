"""Finds a project and reads its file: which profile and boards it has, where runs go, what a board may reach."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, ClassVar, Final, Self

from pydantic import Field, model_validator

from calibrant.errors import quote
from calibrant.records.base import Record
from calibrant.records.problems import refuse
from calibrant.records.types import Id, Many, Prose
from calibrant.runs.files import Beside, read_record
from calibrant.world.base import Allow

PROJECT_FILE: Final = "calibrant.yaml"
"""The name of the file that makes a folder a project."""

Text = Annotated[str, Field(min_length=1)]


class Allowed(Record):
    """What the boards of a project may reach on this machine, as the project file says it; nothing unless listed."""

    commands: Many[Text] = ()
    files: Many[Text] = ()
    calls: Many[Text] = ()
    environment: Many[Text] = ()
    hosts: Many[Text] = ()
    databases: Many[Text] = ()


class GateSpec(Record):
    """A gate of a project: the policy that decides, and the files of what it takes for the policy to have authority.

    A file that is not there yet is an authority that was not earned yet; only the policy has to be there.
    """

    id: Id
    policy: Text
    grant: Text | None = None
    judge: Text | None = None
    study: Text | None = None
    probes: Text | None = None
    claim: Text | None = None
    retired: Prose | None = None


class Project(Record):
    """A project file: its profile, boards and gates, the folder of runs, who may sign, and what boards may reach."""

    schema_name: ClassVar[str] = "calibrant.project.v1"

    profile: Text = "default"
    boards: Many[Text] = ()
    runs: Text = "runs"
    gates: Many[GateSpec] = ()
    allowed_signers: Text = "allowed_signers"
    revoked_signers: Text = "revoked_signers"
    allow: Allowed = Allowed()

    @model_validator(mode="after")
    def _gates_are_distinct(self) -> Self:
        names = [gate.id for gate in self.gates]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            refuse(f"the gate {quote(twice)} twice", "each gate once")
        return self


@dataclass(frozen=True, slots=True)
class ProjectFolder:
    """A project where it lies: paths in its file start from ``root``."""

    root: Path
    project: Project

    @property
    def runs(self) -> Path:
        """The folder that runs are kept in."""
        return self.root / self.project.runs

    @property
    def boards(self) -> tuple[Path, ...]:
        """The boards that the project lists."""
        return tuple(self.root / name for name in self.project.boards)

    @property
    def allow(self) -> Allow:
        """What the boards of the project may reach."""
        allowed = self.project.allow
        return Allow(
            commands=frozenset(allowed.commands),
            files=tuple(self.root / os.path.expanduser(name) for name in allowed.files),  # noqa: PTH111 - never raises
            calls=frozenset(allowed.calls),
            environment=frozenset(allowed.environment),
            hosts=frozenset(allowed.hosts),
            databases=frozenset(allowed.databases),
        )


def project_root(start: Path) -> Path | None:
    """The nearest folder, from ``start`` (a file or a folder, there or not yet) upwards, that holds a project file."""
    start = start.absolute()
    return next((folder for folder in (start, *start.parents) if (folder / PROJECT_FILE).is_file()), None)


def files_around(folder: Path, whose: str) -> Beside:
    """What a file in ``folder`` may name: files of its project, or of its own folder where there is no project.

    ``whose`` says what folder that is, for a message: ``the board's folder``.
    """
    root = project_root(folder)
    if root is not None:
        return Beside(folder, root)
    fix = "Copy the file there, or make a folder above both a project (put a calibrant.yaml there)."
    return Beside(folder, folder.absolute(), whose, fix)


def find_project(start: Path) -> ProjectFolder | None:
    """The project that ``start`` lies in, or None.

    Raises:
        InputError: for a project file that cannot be read.
    """
    root = project_root(start)
    return None if root is None else load_project(root)


def load_project(root: Path) -> ProjectFolder:
    """The project whose file lies in ``root``.

    Raises:
        InputError: naming file, line and field of everything that is wrong.
    """
    path = root / PROJECT_FILE
    return ProjectFolder(root, read_record(path, Project))
