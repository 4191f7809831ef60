"""Judge files: every field and text is in the digest, what is wrong is told where it stands, real subjects judge."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from calibrant.errors import InputError
from calibrant.judging.judge import Judge, Judged
from calibrant.judging.panel import Panel
from calibrant.records.gold import JudgedItem
from calibrant.records.judgefile import JudgeFile
from calibrant.records.subject import Request
from calibrant.runs.judges import build_judge, identity_of, load_judge
from calibrant.testing.subjects import ScriptedSubject
from tests.runs.judgefiles import JUDGE, PROMPT, RUBRIC, write_judge
from tests.subjects.extras import needs_local
from tests.subjects.servers import completion, misbehaving

# Inspect AI's own warning, where a model is opened.
pytestmark = pytest.mark.filterwarnings("ignore:The 'initial' parameter:DeprecationWarning")

GREETING = JudgedItem(id="g", fields={"question": "Hi?", "response": "Hello there"})
SILENCE = JudgedItem(id="s", fields={"question": "Hi?", "response": "What?"})


@pytest.fixture(autouse=True)
def _fresh_module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let each test import the `house_judges` of its own folder."""
    monkeypatch.syspath_prepend(str(tmp_path))
    sys.modules.pop("house_judges", None)
    yield
    sys.modules.pop("house_judges", None)


def one_judge(path: Path, **given: Any) -> Judge:
    loaded = load_judge(path, **given)
    assert isinstance(loaded, Judge)
    return loaded


def judged(judge: Judge, item: JudgedItem = GREETING) -> Judged:
    async def once() -> Judged:
        try:
            return await judge.judge(item)
        finally:
            await judge.close()

    return asyncio.run(once())


def verdicts(judge: Judge) -> tuple[str | None, str | None]:
    return judged(judge, GREETING).judgement.verdict, judged(judge, SILENCE).judgement.verdict


def test_a_judge_file_with_its_prompt_and_rubric_is_a_judge(tmp_path: Path) -> None:
    judge = one_judge(write_judge(tmp_path))
    assert (judge.id, judge.labels, judge.positive, judge.rubric) == ("greets", ("pass", "fail"), "pass", RUBRIC)
    assert judge.prompt.text == "The response greets.\nQ: {{ question }}\nA: {{ response }}\nSay pass or fail."
    assert verdicts(judge) == ("pass", "fail")
    assert judge.capability.kind == "judge"


def test_yaml_reads_as_json_does_and_no_stays_text(tmp_path: Path) -> None:
    path = write_judge(tmp_path, labels=["yes", "no"])
    yaml = path.with_suffix(".yaml")
    lines = ["schema: calibrant.judge.v1", "id: greets", "subject: python:house_judges.greets", "prompt: prompt.txt"]
    yaml.write_text("\n".join([*lines, "rubric: ../rubrics/greets.md", "labels: [yes, no]"]), encoding="utf-8")
    assert one_judge(yaml).digest == one_judge(path).digest
    assert one_judge(yaml).labels == ("yes", "no")


def test_a_text_in_the_file_is_the_text_beside_it(tmp_path: Path) -> None:
    beside = one_judge(write_judge(tmp_path))
    inline = {"prompt": None, "prompt_text": f"{PROMPT}\n", "rubric": None, "rubric_text": RUBRIC}
    assert one_judge(write_judge(tmp_path, **inline)).digest == beside.digest


@pytest.mark.parametrize("name", ["judges/prompt.txt", "rubrics/greets.md"])
def test_crlf_and_a_byte_order_mark_change_no_digest_and_a_word_does(tmp_path: Path, name: str) -> None:
    path = write_judge(tmp_path)
    digest = one_judge(path).digest
    text = (tmp_path / name).read_text(encoding="utf-8")
    (tmp_path / name).write_bytes(b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode() + b"\r\n")
    assert one_judge(path).digest == digest
    (tmp_path / name).write_text(text.replace("r", "R") if "greets.md" in name else f"{text}!", encoding="utf-8")
    assert one_judge(path).digest != digest


CHANGES: dict[str, Any] = {
    "subject": "python:house_judges.greets2",
    "prompt_text": PROMPT + " ",
    "rubric_text": RUBRIC + " Warmly.",
    "labels": ["fail", "pass"],
    "positive": "fail",
    "parser": "verdict-marked.v1",
    "mode": "completion",
    "stop": ["\n"],
    "max_tokens": 2047,
    "seed": 1,
    "structured": True,
    "unparsed_retries": 0,
    "pairwise": {"fields": ["question", "response"], "labels": ["pass", "fail"]},
}
SAME: dict[str, Any] = {"id": "other", "paraphrases": ["../rubrics/greets.md"], "options": {"concurrency": 3}}


def test_every_field_of_a_judge_file_that_can_change_a_verdict_moves_its_digest(tmp_path: Path) -> None:
    inline = {"prompt": None, "prompt_text": PROMPT, "rubric": None, "rubric_text": RUBRIC}
    path = write_judge(tmp_path, **inline)
    module = tmp_path / "house_judges.py"
    module.write_text(module.read_text() + "\ndef greets2(asked: str) -> str:\n    return ''\n")
    base = one_judge(path).digest
    digests = {one_judge(write_judge(tmp_path, **{**inline, name: value})).digest for name, value in CHANGES.items()}
    assert base not in digests
    assert len(digests) == len(CHANGES)
    for name, value in SAME.items():
        assert one_judge(write_judge(tmp_path, **{**inline, name: value})).digest == base, name
    assert set(JudgeFile.model_fields) == {*CHANGES, *SAME, "prompt", "rubric"}


def test_options_of_the_subject_that_change_answers_move_the_digest() -> None:
    file = JudgeFile(
        id="m", subject="model:openai-api/house/m-1", rubric_text=RUBRIC, prompt_text=PROMPT, labels=("pass", "fail")
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOUSE_API_KEY", "sk-house-0123456789")
        base = {"base_url": "http://127.0.0.1:9/v1", "temperature": 0}
        others: list[dict[str, Any]] = [{}, {"temperature": 1}, {"top_p": 0.5}, {"base_url": "http://127.0.0.1:8/v1"}]
        judges = [build_judge(file, options={**base, **other}) for other in others]
        same = build_judge(file, options={**base, "timeout": 5})
    assert len({judge.digest for judge in judges}) == len(others)
    assert same.digest == judges[0].digest
    assert judges[0].instrument.temperature == 0.0
    assert "sk-house" not in judges[0].instrument.to_bytes().decode()


# --- what is wrong --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"labels": ["pass"]}, "judge.json:7: labels: found the list"),
        ({"labels": ["pass", "Pass"]}, 'the label "pass" twice'),
        ({"labels": ["pass", "a pass"]}, 'the id "a pass"'),
        ({"labels": ["ok", "ok."]}, "labels: found the labels"),
        ({"positive": "good"}, 'the label "good" as `positive`'),
        ({"parser": "label.v9"}, 'judge.json:11: parser: found the parser "label.v9"'),
        ({"rubric_text": "x"}, "`rubric` and `rubric_text`"),
        ({"rubric": None}, "neither `rubric` nor `rubric_text`"),
        ({"prompt": "missing.txt"}, 'judge.json:5: prompt: found no file "'),
        ({"rubric": "../../x.md"}, 'judge.json:6: rubric: found "../../x.md"; expected a path within'),
        ({"paraphrases": ["nope.md"]}, "judge.json:11: paraphrases"),
        ({"subject": "lokal"}, 'judge.json:4: subject: found the subject "lokal"'),
        ({"subject": "command:/no/such/program"}, "judge.json:4: subject: found the program"),
        ({"options": {"temprature": 0}}, 'found the unknown key "temprature"'),
        ({"labls": ["x"]}, 'the unknown key "labls"'),
        ({"seed": 0.5}, "judge.json:11: seed: found 0.5; expected a whole number"),
        ({"pairwise": {"fields": ["a", "a"], "labels": ["pass", "fail"]}}, '"a" twice in `pairwise.fields`'),
        ({"pairwise": {"fields": ["a", "b"], "labels": ["pass", "good"]}}, '"good" as `pairwise.labels`'),
        ({"pairwise": {"fields": ["question", "b"], "labels": ["pass", "fail"]}}, "which the prompt does not show"),
        ({"prompt": None, "parser": "label.v1"}, "no prompt, with the parser"),
        ({"prompt": None, "mode": "completion"}, "no prompt, with the parser"),
        ({"schema": "calibrant.judge.v2"}, "another version of Calibrant"),
    ],
)
def test_what_is_wrong_in_a_judge_file_is_told_with_its_place(
    tmp_path: Path, changes: dict[str, Any], told: str
) -> None:
    with pytest.raises(InputError) as refused:
        load_judge(write_judge(tmp_path, **changes))
    assert told in str(refused.value)
    assert "judge.json" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("judges/prompt.txt", b"{{ rubric }}\n{{ response|upper }}", "prompt.txt:2: found a template that looks into"),
        ("judges/prompt.txt", b"{{ rubric }}\n\n{{ ''.__class__ }}", "prompt.txt:3: found the attribute"),
        ("judges/prompt.txt", b"a\n\xff", "prompt.txt:2: found the byte 0xff"),
        ("judges/prompt.txt", b"", "prompt.txt: found an empty text"),
        ("rubrics/greets.md", b" \r\n", "greets.md: found an empty text"),
        ("rubrics/greets.md", b"x" * (1 << 20) + b"y", "rubric: found 1,048,577 bytes"),
    ],
)
def test_what_is_wrong_in_a_text_is_told_with_its_place(tmp_path: Path, name: str, text: bytes, told: str) -> None:
    path = write_judge(tmp_path)
    (tmp_path / name).write_bytes(text)
    with pytest.raises(InputError) as refused:
        load_judge(path)
    assert told in str(refused.value)


def test_attack_a_judge_file_names_a_file_outside_its_project(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("the key", encoding="utf-8")
    inner = tmp_path / "project"
    inner.mkdir()
    path = write_judge(inner)
    (inner / "rubrics" / "greets.md").unlink()
    (inner / "rubrics" / "greets.md").symlink_to(tmp_path / "secret.txt")
    with pytest.raises(InputError, match="a path within"):
        load_judge(path)
    for name in ("/etc/passwd", "../.ssh/id", ".hidden"):
        with pytest.raises(InputError, match="a path with"):
            load_judge(write_judge(inner, rubric=name))


def test_attack_a_rubric_with_template_syntax_is_text(tmp_path: Path) -> None:
    path = write_judge(tmp_path)
    attack = "{{ ''.__class__.__mro__[1].__subclasses__() }} {% include '/etc/passwd' %} {{ response }}"
    (tmp_path / "rubrics" / "greets.md").write_text(attack, encoding="utf-8")
    judge = one_judge(path)
    assert judge.rubric == attack
    assert judge.request(GREETING, 1).messages[0].content.startswith(f"{attack}\nQ: Hi?")


# --- real subjects --------------------------------------------------------------------------------------------------


def test_a_command_judges_and_an_edit_of_its_script_is_another_instrument(tmp_path: Path) -> None:
    script = tmp_path / "judge.py"
    source = (
        "import json, sys\n"
        "asked = json.load(sys.stdin)['messages'][-1]['content']\n"
        "good = 'hello' in asked.rpartition('A: ')[2].lower()\n"
        "print(json.dumps({'text': json.dumps({'verdict': 'pass' if good else 'fail'})}))\n"
    )
    script.write_text(source, encoding="utf-8")
    path = write_judge(tmp_path, subject=f"command:{sys.executable} {script}")
    judge = one_judge(path)
    assert verdicts(judge) == ("pass", "fail")
    assert judge.instrument.provider == "command"
    script.write_text(source.replace("'hello'", "'what'"), encoding="utf-8")
    edited = one_judge(path)
    assert edited.digest != judge.digest
    assert verdicts(edited) == ("fail", "pass")


def test_an_edit_of_what_a_function_calls_in_its_module_is_another_instrument(tmp_path: Path) -> None:
    path = write_judge(tmp_path)
    before = one_judge(path).digest
    module = tmp_path / "house_judges.py"
    module.write_text(f"{module.read_text()}\nTHRESHOLD = 3\n", encoding="utf-8")
    sys.modules.pop("house_judges")
    assert one_judge(path).digest != before


def test_a_model_behind_a_real_server_judges_and_tells_what_it_cost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = "sk-house-0123456789abcdef"
    monkeypatch.setenv("HOUSE_API_KEY", key)
    with misbehaving() as server:
        options = {"base_url": server.url, "temperature": 0, "timeout": 20}
        path = write_judge(tmp_path, subject="model:openai-api/house/m-1", options=options, seed=7, structured=True)
        judge = one_judge(path)
        server.behaviours = [(200, {}, completion('{"critique": "It greets.", "verdict": "pass"}'))]
        made = judged(judge).judgement
        assert (made.verdict, made.critique, made.model) == ("pass", "It greets.", "served-2025-01-01")
        assert (made.usage.input, made.usage.output) == (12, 3)
        sent = server.requests[-1]
        assert (sent["seed"], sent["temperature"], sent["max_tokens"]) == (7, 0, 2048)
        assert sent["messages"][-1]["content"] == judge.request(GREETING, 1).messages[0].content
        assert sent["response_format"]["type"] == "json_schema"
        server.behaviours = [(401, {}, {"error": {"message": f"the key {key} is not known"}})]
        refused = judged(judge).judgement
        assert refused.absent == "failed"
        assert key not in str(refused.reason)
    served = judge.instrument.decoding["served"]
    assert isinstance(served, dict)
    assert served["settings"]["base_url"] == server.url  # type: ignore[index, call-overload]


@needs_local
def test_the_embedded_model_judges_by_example() -> None:
    few_shot = (
        "{{ rubric }}\n\nQ: What is 2 + 2?\nA: 4\nVerdict: right\n\n"
        "Q: What is the capital of Italy?\nA: Oslo\nVerdict: wrong\n\n"
        "Q: How many legs has a dog?\nA: 4\nVerdict: right\n\nQ: What colour is snow?\nA: green\nVerdict: wrong\n\n"
        "Q: {{ question }}\nA: {{ response }}\nVerdict:"
    )
    file = JudgeFile(
        id="base",
        subject="local",
        options={"engines": 1},
        prompt_text=few_shot,
        rubric_text="Say whether the answer is right or wrong.",
        labels=("right", "wrong"),
        parser="label.v1",
        mode="completion",
        stop=("\n",),
        max_tokens=4,
        unparsed_retries=0,
    )
    judge = build_judge(file)
    made = judged(judge, JudgedItem(id="x", fields={"question": "What is the capital of France?", "response": "Paris"}))
    assert made.judgement.verdict in ("right", "wrong", None)
    assert made.judgement.absent in (None, "unparsed")
    assert (judge.instrument.provider, judge.instrument.temperature) == ("xllamacpp", 0.0)
    served = judge.instrument.decoding["served"]
    assert isinstance(served, dict)
    assert len(served["settings"]["model_sha256"]) == 64  # type: ignore[index, call-overload, arg-type]
    assert judge.capability.kind == "judge"
    assert (made.judgement.usage.output or 0) > 0


# --- test doubles ---------------------------------------------------------------------------------------------------


def marked(asked: str) -> str:
    """A function that says that it is a test double."""
    return '{"verdict": "pass"}'


marked.calibrant_test_double = True  # type: ignore[attr-defined]


def plain(asked: str) -> str:
    """A function that does not."""
    return '{"verdict": "pass"}'


def test_what_only_plays_a_judge_is_a_test_double(tmp_path: Path) -> None:
    recording = tmp_path / "replies.jsonl"
    recording.write_text(json.dumps({"challenge": "g", "text": '{"verdict": "pass"}'}) + "\n", encoding="utf-8")
    file = JudgeFile.from_dict({**JUDGE, "prompt": None, "prompt_text": PROMPT, "rubric": None, "rubric_text": RUBRIC})
    doubles = {
        "declares itself": build_judge(file, subject=marked),
        "mock provider": build_judge(file.model_copy(update={"subject": "model:mockllm/model"})),
        "recording": build_judge(file.model_copy(update={"subject": f"replay:{recording}"})),
        "scripted is a test double": build_judge(file, subject=ScriptedSubject({"g": '{"verdict": "pass"}'})),
    }
    for because, judge in doubles.items():
        assert judge.capability.kind == "test-double", because
        assert because in str(judge.capability.because)
        assert judge.capability.instrument_sha256 == judge.digest
    assert judged(doubles["recording"]).judgement.verdict == "pass"
    assert build_judge(file, subject=plain).capability.kind == "judge"


def test_a_function_is_a_double_by_its_mark_and_not_by_a_value_that_only_looks_like_one() -> None:
    file = JudgeFile.from_dict({**JUDGE, "prompt": None, "prompt_text": PROMPT, "rubric": None, "rubric_text": RUBRIC})
    for value, kind in ((True, "test-double"), (False, "judge"), ("no", "judge"), (0, "judge")):

        def function(asked: str) -> str:
            return ""

        function.calibrant_test_double = value  # type: ignore[attr-defined]
        assert build_judge(file, subject=function).capability.kind == kind
    identity = identity_of(build_judge(file, subject=marked))
    assert identity is not None
    assert identity.capability == "test-double"


def test_a_judge_tells_what_its_subject_warns_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
    file = JudgeFile(id="m", subject="model:openai/gpt-4o", rubric_text="r", labels=("pass", "fail"))
    assert any("no date or version" in warning for warning in build_judge(file).warnings)


def test_a_subject_that_breaks_its_promise_says_nothing_secret() -> None:
    def broken(request: Request) -> str:
        raise RuntimeError("could not log in with api_key=sk-house-0123456789abcdef")

    file = JudgeFile.from_dict({**JUDGE, "prompt": None, "prompt_text": PROMPT, "rubric": None, "rubric_text": RUBRIC})
    made = judged(build_judge(file, subject=broken))
    assert made.failure is not None
    assert "sk-house" not in made.failure.message


# --- panels ---------------------------------------------------------------------------------------------------------


def test_a_panel_file_names_its_members(tmp_path: Path) -> None:
    for seed in (1, 2, 3):
        write_judge(tmp_path, f"{seed}.json", seed=seed)
    path = tmp_path / "judges" / "panel.yaml"
    path.write_text(
        "schema: calibrant.panel.v1\nid: three\nmembers: [1.json, 2.json, 3.json]\nrule: majority\n", encoding="utf-8"
    )
    panel = load_judge(path)
    assert isinstance(panel, Panel)
    assert [member.seed for member in panel.members] == [1, 2, 3]
    assert asyncio.run(panel.judge(GREETING)).judgement.verdict == "pass"
    with pytest.raises(InputError, match="options or a subject for a panel"):
        load_judge(path, options={"temperature": 1})


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        ("members: [1.json]\nrule: majority", "members"),
        ("members: [1.json, 1.json]\nrule: majority", "panel.yaml:3: members"),
        ("members: [1.json, 9.json]\nrule: majority", "panel.yaml:3: members[1]: found no file"),
        ("members: [1.json, 2.json]\nrule: most", 'found "most"'),
        ("members: [1.json, other.json]\nrule: majority", "panel.yaml:3: members: found other rubrics"),
    ],
)
def test_what_is_wrong_in_a_panel_file_is_told_with_its_place(tmp_path: Path, lines: str, told: str) -> None:
    for seed in (1, 2):
        write_judge(tmp_path, f"{seed}.json", seed=seed)
    write_judge(tmp_path, "other.json", rubric=None, rubric_text="Another one.")
    path = tmp_path / "judges" / "panel.yaml"
    path.write_text(f"schema: calibrant.panel.v1\nid: p\n{lines}\n", encoding="utf-8")
    with pytest.raises(InputError) as refused:
        load_judge(path)
    assert told in str(refused.value)
