"""Evaluation in which nothing is taken on its word: sealed expectations, and judges that earn their authority.

::

    import calibrant

    board = calibrant.load_board("boards/this-machine.yaml")
    run = calibrant.run(board, subject="local", epochs=3)
    run.scorecard()
    run.resolve()  # settles what was pending; the subject is not asked again
    calibrant.verify(run.folder)

    judge = calibrant.load_judge("judges/courtesy.yaml")
    calibrant.judge_run(run, judge)  # labels what waits for a judge
    calibrant.gate(run).verdicts  # pass, fail, blocked or informational, with every reason

Every name below loads what it needs when it is first used, so that importing the package costs next to nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from calibrant._version import __version__

if TYPE_CHECKING:
    from calibrant.authority.gate import Verdict as Verdict
    from calibrant.authority.study import JudgeAgreementStudy as JudgeAgreementStudy
    from calibrant.authority.study import StudyRating as StudyRating
    from calibrant.errors import CalibrantError as CalibrantError
    from calibrant.errors import CannotCheck as CannotCheck
    from calibrant.errors import CheckFailed as CheckFailed
    from calibrant.errors import InputError as InputError
    from calibrant.errors import MachineError as MachineError
    from calibrant.errors import Problem as Problem
    from calibrant.errors import RunLocked as RunLocked
    from calibrant.errors import Where as Where
    from calibrant.judging.store import JudgementStore as JudgementStore
    from calibrant.predictions.predicting import OpenPrediction as OpenPrediction
    from calibrant.predictions.predicting import PredictionResult as PredictionResult
    from calibrant.predictions.predicting import Predictor as Predictor
    from calibrant.predictions.predicting import predict as predict
    from calibrant.records.authority import AuthorityGrant as AuthorityGrant
    from calibrant.records.authority import CalibrationStandard as CalibrationStandard
    from calibrant.records.authority import ClaimSpec as ClaimSpec
    from calibrant.records.authority import DatasetValidation as DatasetValidation
    from calibrant.records.authority import DecisionPolicy as DecisionPolicy
    from calibrant.records.board import Challenge as Challenge
    from calibrant.records.board import Evidence as Evidence
    from calibrant.records.board import Seat as Seat
    from calibrant.records.gold import Gold as Gold
    from calibrant.records.gold import GoldLabel as GoldLabel
    from calibrant.records.gold import JudgedItem as JudgedItem
    from calibrant.records.grounding import Expectation as Expectation
    from calibrant.records.grounding import Label as Label
    from calibrant.records.grounding import Resolution as Resolution
    from calibrant.records.judge import EvaluatorCapability as EvaluatorCapability
    from calibrant.records.judge import JudgeInstrument as JudgeInstrument
    from calibrant.records.judge import Judgement as Judgement
    from calibrant.records.judge import PanelInstrument as PanelInstrument
    from calibrant.records.prediction import Prediction as Prediction
    from calibrant.records.probe import ProbeReport as ProbeReport
    from calibrant.records.profile import Profile as Profile
    from calibrant.records.roster import Roster as Roster
    from calibrant.records.scorecard import Estimate as Estimate
    from calibrant.records.scorecard import NullPolicy as NullPolicy
    from calibrant.records.scorecard import Scorecard as Scorecard
    from calibrant.records.scorecard import Slice as Slice
    from calibrant.records.subject import Failure as Failure
    from calibrant.records.subject import Request as Request
    from calibrant.records.subject import Response as Response
    from calibrant.records.subject import SubjectIdentity as SubjectIdentity
    from calibrant.runs.answers import Answers as Answers
    from calibrant.runs.answers import load_answers as load_answers
    from calibrant.runs.boards import Board as Board
    from calibrant.runs.boards import load_board as load_board
    from calibrant.runs.boards import load_profile as load_profile
    from calibrant.runs.boards import withhold as withhold
    from calibrant.runs.check import Check as Check
    from calibrant.runs.check import check as check
    from calibrant.runs.gates import gate as gate
    from calibrant.runs.gating import Gating as Gating
    from calibrant.runs.gold import GoldSet as GoldSet
    from calibrant.runs.gold import load_gold as load_gold
    from calibrant.runs.items import Item as Item
    from calibrant.runs.judged import items_of as items_of
    from calibrant.runs.judged import judge_items as judge_items
    from calibrant.runs.judged import judge_run as judge_run
    from calibrant.runs.judges import load_judge as load_judge
    from calibrant.runs.probing import probe_judge as probe_judge
    from calibrant.runs.rosters import load_roster as load_roster
    from calibrant.runs.run import Run as Run
    from calibrant.runs.run import Standing as Standing
    from calibrant.runs.run import open_run as open_run
    from calibrant.runs.run import run as run
    from calibrant.runs.run import run_async as run_async
    from calibrant.runs.sealing import Sealing as Sealing
    from calibrant.runs.sealing import open_board as open_board
    from calibrant.runs.sealing import seal_board as seal_board
    from calibrant.runs.session import Pace as Pace
    from calibrant.runs.session import Progress as Progress
    from calibrant.runs.studies import read_study as read_study
    from calibrant.runs.studies import study_from as study_from
    from calibrant.runs.studies import write_study as write_study
    from calibrant.runs.verify import Step as Step
    from calibrant.runs.verify import Verification as Verification
    from calibrant.runs.verify import verify as verify
    from calibrant.runs.widths import WidthProbe as WidthProbe
    from calibrant.runs.widths import open_probe as open_probe
    from calibrant.runs.widths import probe_width as probe_width
    from calibrant.subjects.base import Subject as Subject
    from calibrant.values import Undefined as Undefined
    from calibrant.values import Unscored as Unscored
    from calibrant.world.base import Allow as Allow
    from calibrant.world.base import Finding as Finding
    from calibrant.world.base import Question as Question
    from calibrant.world.base import Resolver as Resolver

__all__ = [
    "Allow",
    "Answers",
    "AuthorityGrant",
    "Board",
    "CalibrantError",
    "CalibrationStandard",
    "CannotCheck",
    "Challenge",
    "Check",
    "CheckFailed",
    "ClaimSpec",
    "DatasetValidation",
    "DecisionPolicy",
    "Estimate",
    "EvaluatorCapability",
    "Evidence",
    "Expectation",
    "Failure",
    "Finding",
    "Gating",
    "Gold",
    "GoldLabel",
    "GoldSet",
    "InputError",
    "Item",
    "JudgeAgreementStudy",
    "JudgeInstrument",
    "JudgedItem",
    "Judgement",
    "JudgementStore",
    "Label",
    "MachineError",
    "NullPolicy",
    "OpenPrediction",
    "Pace",
    "PanelInstrument",
    "Prediction",
    "PredictionResult",
    "Predictor",
    "ProbeReport",
    "Problem",
    "Profile",
    "Progress",
    "Question",
    "Request",
    "Resolution",
    "Resolver",
    "Response",
    "Roster",
    "Run",
    "RunLocked",
    "Scorecard",
    "Sealing",
    "Seat",
    "Slice",
    "Standing",
    "Step",
    "StudyRating",
    "Subject",
    "SubjectIdentity",
    "Undefined",
    "Unscored",
    "Verdict",
    "Verification",
    "Where",
    "WidthProbe",
    "__version__",
    "check",
    "gate",
    "items_of",
    "judge_items",
    "judge_run",
    "load_answers",
    "load_board",
    "load_gold",
    "load_judge",
    "load_profile",
    "load_roster",
    "open_board",
    "open_probe",
    "open_run",
    "predict",
    "probe_judge",
    "probe_width",
    "read_study",
    "run",
    "run_async",
    "seal_board",
    "study_from",
    "verify",
    "withhold",
    "write_study",
]

_NAMES_IN: Final = {
    "authority.gate": "Verdict",
    "authority.study": "JudgeAgreementStudy StudyRating",
    "errors": "CalibrantError CannotCheck CheckFailed InputError MachineError Problem RunLocked Where",
    "judging.store": "JudgementStore",
    "records.authority": "AuthorityGrant CalibrationStandard ClaimSpec DatasetValidation DecisionPolicy",
    "records.board": "Challenge Evidence Seat",
    "records.gold": "Gold GoldLabel JudgedItem",
    "records.grounding": "Expectation Label Resolution",
    "records.judge": "EvaluatorCapability JudgeInstrument Judgement PanelInstrument",
    "records.prediction": "Prediction",
    "records.probe": "ProbeReport",
    "records.profile": "Profile",
    "records.roster": "Roster",
    "records.scorecard": "Estimate NullPolicy Scorecard Slice",
    "records.subject": "Failure Request Response SubjectIdentity",
    "runs.answers": "Answers load_answers",
    "runs.boards": "Board load_board load_profile withhold",
    "runs.check": "Check check",
    "runs.gates": "gate",
    "runs.gating": "Gating",
    "runs.gold": "GoldSet load_gold",
    "runs.items": "Item",
    "runs.judged": "items_of judge_items judge_run",
    "runs.judges": "load_judge",
    "predictions.predicting": "OpenPrediction PredictionResult Predictor predict",
    "runs.probing": "probe_judge",
    "runs.rosters": "load_roster",
    "runs.run": "Run Standing open_run run run_async",
    "runs.sealing": "Sealing open_board seal_board",
    "runs.session": "Pace Progress",
    "runs.studies": "read_study study_from write_study",
    "runs.verify": "Step Verification verify",
    "runs.widths": "WidthProbe open_probe probe_width",
    "subjects.base": "Subject",
    "values": "Undefined Unscored",
    "world.base": "Allow Finding Question Resolver",
}
_HOME: Final = {name: module for module, names in _NAMES_IN.items() for name in names.split()}


if not TYPE_CHECKING:  # the type checker knows the names from above, and refuses all others

    def __getattr__(name: str) -> Any:
        """Load a public name on its first use (PEP 562)."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
