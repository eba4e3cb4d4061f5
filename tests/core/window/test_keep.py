"""keep: what is worth most for its tokens stays, older copies leave first, the newest part stays whole."""

from dataclasses import replace

from undrift.core.text.tokens import characters_per_4
from undrift.core.window.keep import Allowance, Kept, Removable, keep
from undrift.core.window.value import KnownReferences
from undrift.values.window import ContextEntry


def noise(lines: int) -> str:
    return "\n".join("words that say nothing" for _ in range(lines))


def names(first: int, lines: int) -> str:
    return "\n".join(f"src/module_{n}.py" for n in range(first, first + lines))


def result(number: int, text: str, **meta: object) -> ContextEntry:
    metadata = {"role": "user", "kind": "result", **meta}
    return ContextEntry(f"r{number}", "tool_result", text, characters_per_4(text), 0, metadata, seq=number)


def chosen(
    entries: list[ContextEntry], room: int, *, stays: tuple[ContextEntry, ...] = (), recent: float = 0, price: float = 0
) -> Kept:
    known = KnownReferences()
    for entry in [*entries, *stays]:
        known.learn(entry)
    units = [Removable((entry,), entry.token_count) for entry in entries]
    return keep(stays, units, Allowance(room, recent, price), known=known, count=characters_per_4)


def test_everything_stays_where_it_fits():
    entries = [result(1, noise(20)), result(2, names(0, 20))]
    kept = chosen(entries, 10_000)
    assert (kept.removed, kept.trimmed) == (frozenset(), {})


def test_what_mentions_nothing_leaves_before_what_does():
    entries = [result(1, names(0, 40)), result(2, noise(40))]
    kept = chosen(entries, entries[0].token_count + 10)
    assert kept.removed == {"r2"}
    assert kept.trimmed == {}


def test_of_a_large_result_the_lines_stay_that_mention_something():
    text = noise(50) + "\n" + names(0, 5) + "\n" + noise(50)
    kept = chosen([result(1, text)], 200)
    assert kept.trimmed == {"r1": ((50, 55),)}
    assert kept.removed == frozenset()


def test_an_older_copy_leaves_before_a_newer_one_and_beside_what_stays():
    old, new = result(1, names(0, 40)), result(2, names(0, 40))
    assert chosen([old, new], new.token_count + 5).removed == {"r1"}
    other = result(3, names(100, 40))
    assert chosen([other, new], other.token_count + 5, stays=(old,)).removed == {"r2"}


def test_the_lines_of_a_file_stay_before_those_of_other_output():
    def shown(number: int, tool: str) -> list[ContextEntry]:
        text = "\n".join(f"a line {'of' * (n + 1)} {tool} with nothing but plain words" for n in range(12))
        call = replace(
            result(number, "{}", kind="call", role="assistant", tool_name=tool, pair_id=tool), type="reasoning"
        )
        return [call, result(number + 1, text, pair_id=tool)]

    read, ran = shown(1, "Read"), shown(3, "Bash")
    known = KnownReferences()
    for entry in [*read, *ran]:
        known.learn(entry)
    units = [Removable(tuple(pair), sum(entry.token_count for entry in pair)) for pair in (read, ran)]
    kept = keep((), units, Allowance(units[0].tokens + 5, 0), known=known, count=characters_per_4)
    assert kept.removed == {"r3", "r4"}, "though it is newer"


def test_the_newest_share_stays_whole_whatever_it_is_worth():
    entries = [result(1, names(0, 40)), result(2, noise(10))]
    room = entries[0].token_count
    assert chosen(entries, room, recent=0).removed == {"r2"}
    assert "r2" not in chosen(entries, room, recent=0.9).removed


def test_what_is_worth_nothing_goes_by_its_age():
    entries = [result(n, noise(10)) for n in range(5)]
    kept = chosen(entries, 2 * entries[0].token_count + 20)
    assert kept.removed == {"r0", "r1", "r2"}


def test_a_result_of_several_parts_stays_or_leaves_as_a_whole():
    text = noise(50) + "\n" + names(0, 5) + "\n" + noise(50)
    kept = chosen([result(1, text, mixed="parts")], 200)
    assert dict(kept.trimmed) == {}
    assert set(kept.removed) == {"r1"}


def test_a_trimmed_result_can_lose_more_but_gains_nothing():
    text = names(0, 60) + "\n" + "\n".join(f"src/{'m' * 110}_{n}.py" for n in range(60))
    entry = replace(result(1, text, rows=((0, 30), (70, 100)), whole_tokens=2_150), token_count=1_060)
    kept = chosen([entry], 400)
    assert kept.trimmed == {"r1": ((0, 30),)}


def test_what_the_user_showed_stays_before_what_mentions_nothing():
    metadata = {"role": "user", "kind": "image", "message": "m"}
    picture = ContextEntry("p", "reasoning", "{}", 1_500, 0, metadata)
    entries = [picture, result(1, noise(400))]
    assert chosen(entries, 1_600).removed == {"r1"}
    assert chosen([picture, result(1, names(0, 400))], 1_700).removed == {"p"}


def test_without_room_everything_leaves():
    entries = [result(1, names(0, 40)), result(2, noise(4))]
    assert chosen(entries, -5).removed == {"r1", "r2"}


def test_with_a_price_only_what_pays_it_stays_although_there_is_room():
    entries = [result(1, noise(50) + "\n" + names(0, 5)), result(2, noise(40)), result(3, names(100, 40))]
    room = 10_000
    kept = chosen(entries, room, price=0.05)
    assert kept.removed == {"r2"}
    assert list(kept.trimmed) == ["r1"]
    stays = entries[2].token_count
    assert 0 < room - kept.spare_tokens - stays < entries[0].token_count
    assert chosen(entries, room).spare_tokens == 0
    assert chosen(entries, room, price=100).removed == {"r1", "r2", "r3"}
    assert chosen(entries, stays // 2, price=0.001).spare_tokens == 0, "the room is the limit, not the price"
