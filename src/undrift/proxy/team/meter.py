"""Counts what each member's requests use: figures for Prometheus, and the amounts that budgets are about.

Law: at most so many pairs of person and project have figures of their own; the rest count together as ``other``. An answer
without usage is estimated, and never counted as nothing.
"""

import asyncio

from undrift.core.cost import OUTPUT_PRICE
from undrift.core.text.tokens import characters_per_4
from undrift.errors import InputError
from undrift.proxy.metering import AnsweredRequest
from undrift.proxy.observe import Counters
from undrift.proxy.team.budgets import MemberAllowance
from undrift.settings.model_table import Model, lookup
from undrift.values.member import Member
from undrift.wire import sse
from undrift.wire.form import ProviderReply
from undrift.wire.forms import form_of
from undrift.wire.replies import answer_from

__all__ = ["MemberLabels", "Meter"]

_OTHER = "other"


class MemberLabels:
    """The labels of members in Prometheus' form. `most`: pairs of person and project with labels of their own."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._known: dict[tuple[str, str], str] = {}

    def of(self, member: Member) -> str:
        """Return the labels of a member."""
        pair = member.person, member.project
        if (found := self._known.get(pair)) is not None:
            return found
        if len(self._known) >= self._most:
            return _labels(_OTHER, _OTHER)
        return self._known.setdefault(pair, _labels(*pair))


class Meter:
    """Counts for one gateway.

    Args:
        allowance: Gets what was used.
        figures: Of the gateway; used on the event loop alone.
        models: The table of models, with prices.
        most_labels: See `MemberLabels`.
    """

    def __init__(
        self, allowance: MemberAllowance, figures: Counters, models: tuple[Model, ...], most_labels: int
    ) -> None:
        self._allowance = allowance
        self._figures = figures
        self._models = models
        self._labels = MemberLabels(most_labels)

    def ended(self, member: Member, status: int) -> None:
        """Count a request that is over. `status`: of HTTP; 0: there was no answer."""
        kind = f"{status // 100}xx" if status else "none"
        self._figures.add("member_requests_total", f'{self._labels.of(member)},status="{kind}"')

    def refused(self, member: Member, reason: str) -> None:
        """Count a request that was not carried out. `reason`: ``rate`` or ``budget``."""
        self._figures.add("member_refused_total", f'{self._labels.of(member)},reason="{reason}"')

    def answered(self, asked: AnsweredRequest, body: bytes | None, loop: asyncio.AbstractEventLoop) -> None:
        """Count what an answer used; a worker calls it.

        `body`: the answer without a coding; None: it cannot be read. `loop`: of the gateway.
        """
        read, model = (None, None) if body is None else _read(asked.wire, body, with_text=False)
        if body is not None and read is not None and read.input_tokens is None and not read.text:  # it is estimated
            read, model = _read(asked.wire, body, with_text=True)
        if read is None or read.input_tokens is None:
            written = asked.answer_tokens
            if body is not None:
                written = characters_per_4(body.decode("utf-8", "replace") if read is None else read.text)
            read = ProviderReply(input_tokens=asked.sent_tokens, output_tokens=written)
        input_tokens = read.input_tokens or 0
        usd = _usd(self._models, model or asked.model, read)
        self._allowance.spent(asked.member, input_tokens + read.output_tokens, usd)
        amounts = {"input": input_tokens, "output": read.output_tokens, "saved": asked.saved_tokens}
        try:
            loop.call_soon_threadsafe(self._add, asked.member, amounts)
        except RuntimeError:  # the gateway has ended
            return

    def _add(self, member: Member, amounts: dict[str, int]) -> None:
        labels = self._labels.of(member)
        for kind, tokens in amounts.items():
            if tokens > 0:
                self._figures.add("member_tokens_total", f'{labels},kind="{kind}"', tokens)


def _read(wire: str, body: bytes, *, with_text: bool) -> tuple[ProviderReply | None, str | None]:
    """Return what an answer holds, and the model that it names; nothing if it is not whole, or no answer of this form.

    `with_text`: see `sse.answer_of`.
    """
    try:
        answer = sse.answer_of(wire, body, with_text=with_text)
        if answer is None:
            return None, None
        form = form_of(wire)
        given = answer_from(answer, form.NAME)
        model = given.get("model", given.get("modelVersion"))
        return form.reply(given), model if isinstance(model, str) else None
    except InputError:
        return None, None


def _usd(models: tuple[Model, ...], name: str | None, read: ProviderReply) -> float | None:
    """Return the price of an answer in US dollars by the table of models. None means: its model has no price there."""
    model = lookup(name, models)
    usd = model.input_usd_per_million
    if usd is None or read.input_tokens is None:
        return None
    fresh = max(0, read.input_tokens - read.cached_tokens - read.written_tokens)
    written = read.written_tokens * model.write_ratio_for(read.cache_seconds)
    input_tokens = fresh + read.cached_tokens * model.read_ratio + written
    return usd * (input_tokens + OUTPUT_PRICE * read.output_tokens) / 1_000_000


def _labels(person: str, project: str) -> str:
    return f'person="{_escaped(person)}",project="{_escaped(project)}"'


def _escaped(value: str) -> str:
    """Escape a label's value as Prometheus reads it; a name has no line breaks."""
    return value.replace("\\", "\\\\").replace('"', '\\"')
