"""``undrift bench retrieval``: how many questions a search answers, by words, by vectors and with parts of the user's own."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from undrift.cli.draw import Column, draw, next_commands, say
from undrift.cli.memory_list import memories_by_project
from undrift.cli.of_session import one_home_options, settings_of
from undrift.cli.show import count, echo_json, note, safe
from undrift.errors import RecallError

if TYPE_CHECKING:
    from undrift.bench.questions import AskedTexts
    from undrift.bench.retrieval import RetrievalReport, RetrievalRow

__all__ = ["retrieval_command"]

_LEAST_QUESTIONS = 20
"""Fewer questions from a person's own memory say nothing."""
_YOURS = "your memories"
_OURS = "the questions that come with undrift"


@click.command("retrieval")
@click.argument("files", nargs=-1, metavar="[FILE]...", type=click.Path(path_type=Path, exists=True))
@click.option("--embedder", metavar="NAME", help="Try this embedder (default: your `embedder` setting).")
@click.option("--reranker", metavar="NAME", help="Try this re-ranker (default: your `reranker` setting).")
@click.option("--download", is_flag=True, help="Download their models if this machine does not have them.")
@one_home_options
def retrieval_command(
    files: tuple[Path, ...],
    embedder: str | None,
    reranker: str | None,
    *,
    download: bool,
    home: str | None,
    as_json: bool,
) -> None:
    """Measure how many questions a memory search answers, by words, by vectors and with your own models.

    FILE is a LoCoMo file, a folder of BEAM, or a JSON file with your own "texts" and "questions". Without FILE there are
    two sets: questions made from your memories, and 60 that come with undrift. Your memories are copied, not changed.

    \b
    undrift bench retrieval
    """
    from undrift.bench.questions import asked_in, own_questions
    from undrift.bench.retrieval import measure

    settings = settings_of(home, embedder=embedder, reranker=reranker)
    sets: list[tuple[str, list[AskedTexts]]] = [(path.name, asked_in(path)) for path in files]
    if not files:
        sets = [*_yours(home), (_OURS, own_questions())]
    reports = [
        measure(
            title, asked, settings, may_download=download, progress=lambda line: note(f"measuring {safe(line)} ...")
        )
        for title, asked in sets
    ]
    if as_json:
        echo_json(
            {"embedder": settings.embedder, "reranker": settings.reranker, "sets": [r.as_value() for r in reports]}
        )
        return
    for report in reports:
        _show(report)
    for use, name in (("Your embedder", settings.embedder), ("Your re-ranker", settings.reranker)):
        if name not in (None, "none", "auto", "wordllama"):
            say(f"{use}: {safe(str(name))}", hang="  ")
    if embedder or reranker:
        variables = {"UNDRIFT_EMBEDDER": embedder, "UNDRIFT_RERANKER": reranker}
        words = " ".join(f"{variable}={shlex.quote(name)}" for variable, name in variables.items() if name)
        next_commands(To_use_them_in_this_shell=f"export {words}")
    else:
        next_commands(To_try_a_model_of_your_own="undrift bench retrieval --embedder NAME --reranker NAME")


def _yours(home: str | None) -> "list[tuple[str, list[AskedTexts]]]":
    """Return the questions from the person's memories; none if there are too few."""
    from undrift.bench.questions import RememberedText, asked_of

    try:
        entries = [entry for _, some in memories_by_project(home) for entry in some if not entry.is_contradicted]
    except RecallError:
        entries = []
    made = asked_of([RememberedText(one.content, one.source, one.speaker, one.trust) for one in entries])
    if len(made.questions) < _LEAST_QUESTIONS:
        found = count(len(made.questions), "question")
        note(f"Your memories give {found}; {_LEAST_QUESTIONS} would be needed to say something.")
        return []
    return [(_YOURS, [made])]


def _show(report: "RetrievalReport") -> None:
    """Print the answer and the table of one set of questions."""
    best = max(report.rows, key=lambda row: (row.shares[1], row.shares[2]))
    say(
        f"{safe(report.title)}: {best.shares[1]:.0%} of {count(report.questions, 'question')} about "
        f"{count(report.texts, 'text')} are answered within five hits by the best way.",
        bold=True,
    )
    click.echo()
    names = ("way to search", "@1", "@5", "@10", "CPU ms", "ms")
    draw([Column(name, words=name == names[0]) for name in names], [_cells(row) for row in report.rows])
    click.echo()
    for one in report.differences:
        parts = [
            f"{100 * mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f}{', a draw' if low <= 0 <= high else ''}) at {k}"
            for k, (mean, low, high) in zip((1, 5, 10), one.by, strict=True)
        ]
        say(f"{safe(one.name)}, against {safe(one.against)}, in points: {'; '.join(parts)}.", hang="  ")
    for row in report.rows:
        if row.without:
            say(f"{safe(row.name)}: {count(row.without, 'search', 'searches')} went without it: {safe(row.fault)}")
    if report.title == _YOURS:
        say(
            "A question is a sentence that was held back from its memory, or half of a memory's words without the rarest. "
            "A person asks in other words, so these figures are too good for words. Compare the rows only."
        )


def _cells(row: "RetrievalRow") -> list[str]:
    return [safe(row.name), *(f"{share:.3f}" for share in row.shares), f"{row.cpu_ms:.1f}", f"{row.wait_ms:.1f}"]
