"""Things that are known only by words: files, commands and tools whose names have these words as parts. Frozen, pure.

Law: all of the words must be there, and as whole parts: ``payments`` is a part of ``src/payments/charge.ts`` and none of ``repayments``.
"""

from dataclasses import dataclass

from undrift.core.rules.ban_stems import parts_of, stem_of
from undrift.core.rules.ban_words import words_in
from undrift.core.rules.effects import Effect
from undrift.core.rules.programs import TALKERS, only_checks, script_run

__all__ = ["DoesTarget", "PartsTarget"]

_MOST_PATHS = 20
_RUNNERS = words_in(
    """python node ruby perl bash sh zsh npx npm pnpm yarn bun make just task rake invoke deno ts-node tsx uv poetry
    php rails gradle gradlew mvn nox tox go cargo dotnet Rscript julia source . manage.py artisan bin"""
)
"""Programs that are nothing without the name of what they run."""

_TALKERS = TALKERS | words_in("""stat file tree cp mv rm mkdir touch tee chmod sort uniq cut tr xargs git gh""")
_MANY = words_in(
    """kubectl docker podman git gh glab aws gcloud az helm terraform tofu npm pnpm yarn cargo argocd redis-cli
    systemctl oc heroku fly flyctl vercel netlify firebase supabase wrangler pulumi brew apt apt-get pip uv poetry
    conda adb xcrun pod bundle rails rake mix dotnet nx turbo lerna kafka-topics.sh consul vault nomad doctl ansible
    jj hg svn dvc gsutil bq rclone tmux screen cdk sam serverless eas expo flutter dart prisma"""
)
"""Programs that do what their first words say."""

_SHOWS = words_in(
    """list ls get describe show view status log logs info version help --help --list --version -h --dry-run --check
    cat tree outdated why search inspect ps images diff plan validate events top history --describe explain"""
)
_WORDS = 5
_ENDINGS = frozenset(map(stem_of, words_in("sh bash zsh py js mjs ts rb pl php ps bat cmd script scripts run do")))
"""The parts of a script's name that do not tell which it is."""


@dataclass(frozen=True, slots=True)
class PartsTarget:
    """Files, or calls, in whose names all of some words are parts.

    `of`: ``path``; ``call``; ``script``, they are the name of a script that is run; ``act``, one of the words begins the name of what a program does; ``program``, one of them is the program.
    """

    words: frozenset[str]
    of: str = "path"

    def holds(self, effect: Effect, cwd: str) -> bool:
        if self.of == "path":
            return any(self._is_named(path, cwd) for path in effect.paths[:_MOST_PATHS])
        if effect.words:
            return (
                "run" in effect.does
                and not (self.of != "act" and _is_shown(effect.words))
                and self._is_run(effect.words)
            )
        if "tool" not in effect.does or "shell" in effect.does or self.of in ("program", "script"):
            return False
        if self.of == "act":
            return self._is_act(parts_of(effect.tool))
        return self.words <= parts_of(effect.tool) and "read" not in effect.does

    def _is_named(self, path: str, cwd: str) -> bool:
        here = cwd.rstrip("/") + "/"
        short = path[len(here) :] if cwd and path.startswith(here) else "/".join(path.split("/")[-4:])
        return self.words <= parts_of(short)

    def _is_run(self, words: tuple[str, ...]) -> bool:
        program = words[0]
        if self.of == "program":
            return program.removesuffix(".py").lower() in self.words
        if self.of == "script":
            name = "" if program in _TALKERS else script_run(words)
            return bool(name) and len(name) < 80 and parts_of(name) - _ENDINGS == self.words
        if self.of == "act":
            names = [word for word in words[1:8] if len(word) < 60 and " " not in word]
            return program in _MANY and self._is_act(frozenset(part for word in names[:4] for part in parts_of(word)))
        if program in _TALKERS or only_checks(words):
            return False
        plain = [word for word in words[1:12] if word[:1] != "-" and len(word) < 80 and " " not in word][:_WORDS]
        if len(self.words) == 1 and program not in _RUNNERS:
            return self.words <= parts_of(program) or (
                program in _MANY and any(self.words <= parts_of(word) for word in plain[:2])
            )
        found = set(parts_of(program))
        for word in plain[: 2 if len(self.words) == 1 else _WORDS]:
            found |= parts_of(word)
        return self.words <= found

    def _is_act(self, parts: frozenset[str]) -> bool:
        return any(part.startswith(word) or part == word for word in self.words if len(word) > 2 for part in parts)


def _is_shown(words: tuple[str, ...]) -> bool:
    """Return whether a command only shows what there is."""
    return any(word.lower() in _SHOWS or word.startswith(("describe-", "get-", "list-")) for word in words[1:9])


@dataclass(frozen=True, slots=True)
class DoesTarget:
    """All that has one of some effects."""

    does: frozenset[str]

    def holds(self, effect: Effect, cwd: str) -> bool:
        del cwd
        return bool(self.does & effect.does)
