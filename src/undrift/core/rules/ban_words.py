"""The words in which people forbid things: verbs by what they do, branches, services, programs. Tables, pure."""

from collections.abc import Mapping

__all__ = ["AMBIGUOUS", "BRANCHES", "FAMILIES", "PROGRAMS", "SERVICES", "STOPS", "VERBS", "verb_of", "words_in"]


def words_in(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_VERBS: Mapping[str, str] = {
    "change": "edit change modify alter update fix write rewrite overwrite refactor reformat format adjust patch "
    "tweak hand-edit replace regenerate bump refresh clobber truncate amend-file correct shrink convert recompress strip reorder minify tidy sanitize reword rephrase "
    "compress prettify beautify",
    "touch": "touch disturb mess tamper meddle fiddle",
    "move": "move rename relocate",
    "work": "work develop land",
    "create": "create add put save generate introduce place make produce raise",
    "delete": "delete remove rm erase clean wipe purge nuke destroy drop recreate",
    "read": "read open look view inspect peek print show dump display cat leak expose",
    "run": "run execute call invoke start launch use issue try go rely do perform employ apply trigger fire type "
    "kick spin",
    "install": "install",
    "bypass": "bypass skip circumvent disable",
    "commit": "commit",
    "push": "push",
    "merge": "merge",
    "rebase": "rebase",
    "amend": "amend",
    "squash": "squash",
    "switch": "switch checkout leave-branch",
    "stash": "stash",
    "tag": "tag",
    "reset": "reset",
    "revert": "revert",
    "cherry-pick": "cherry-pick",
    "pull": "pull",
    "stage": "stage",
    "deploy": "deploy ship roll",
    "publish": "publish release upload",
    "fetch": "fetch download browse search google",
    "connect": "connect access hit query talk contact ssh log login reach",
    "spawn": "spawn delegate dispatch",
    "kill": "kill restart terminate bounce reload",
    "upgrade": "upgrade",
    "discard": "discard throw lose undo",
    "approve": "approve",
    "leave": "leave",
    "sleep": "sleep wait",
    "prune": "prune",
    "close": "close",
    "comment": "comment post reply send message email notify",
}
VERBS: Mapping[str, str] = {word: does for does, words in _VERBS.items() for word in words.split()}
"""Verb -> the name of an effect, or of a group of commands."""

_ENDINGS = (("ing", ""), ("ing", "e"), ("ed", ""), ("ed", "e"), ("es", ""), ("es", "e"), ("s", ""), ("ies", "y"))
_IRREGULAR: Mapping[str, str] = dict(
    pair.split(":")
    for pair in [
        "ran:run",
        "running:run",
        "written:write",
        "putting:put",
        "committing:commit",
        "committed:commit",
        "getting:get",
        "dropped:drop",
        "dropping:drop",
        "shipped:ship",
        "shipping:ship",
        "gone:go",
        "stopping:stop",
        "tagging:tag",
        "tagged:tag",
        "hitting:hit",
        "spun:spin",
        "made:make",
        "pushes:push",
        "done:do",
        "went:go",
        "cherry-picking:cherry-pick",
        "modified:modify",
        "rewritten:rewrite",
        "overwritten:overwrite",
        "sent:send",
        "threw:throw",
        "lost:lose",
        "left:leave",
        "built:build",
        "put:put",
    ]
)


def verb_of(word: str) -> str:
    """Return what a verb does, in any of its forms; empty if it is none of these."""
    word = _IRREGULAR.get(word, word)
    if word in VERBS:
        return VERBS[word]
    for ending, instead in _ENDINGS:
        if word.endswith(ending) and (stem := word[: -len(ending)] + instead) in VERBS and len(stem) > 2:
            return VERBS[stem]
    return ""


BRANCHES = words_in(
    """dev develop gh-pages integration live main mainline master preprod prod production qa stable staging trunk uat"""
)
"""Branches that are known by their names alone."""

FAMILIES = tuple(
    frozenset(names.split())
    for names in (
        "bun npm pnpm yarn",
        "bunx npx",
        "conda mamba pdm pip pipenv poetry uv",
        "venv virtualenv",
        "nose pytest unittest",
        "jest mocha vitest",
        "docker podman",
        "autopep8 black yapf",
        "biome eslint tslint",
        "gradle mvn",
        "ack ag grep rg",
    )
)
"""Programs that do the same: to be said to use only one is to be forbidden the others."""

SERVICES = words_in(
    """airtable asana bigquery bitbucket browser calendar chrome clickup cloudflare confluence context7 datadog discord
    drive exa figma firecrawl github gitlab gmail grafana hubspot intercom jira linear monday mongodb notion
    pagerduty perplexity playwright postgres puppeteer redis salesforce sentry shopify slack snowflake stripe
    supabase tavily telegram trello vercel zendesk"""
)
"""Services that agents reach through servers of tools."""

PROGRAMS = words_in(
    """gdb lldb strace valgrind conan vcpkg jscodeshift storybook gsutil bq snowsql fastlane tshark nmap hydra masscan sqlmap latexmk pdflatex pandoc
    snakemake nextflow dbt sqlfluff airflow spark-submit blender godot west openocd esptool west qemu clang gcc cmake pyright pylint flake8 isort
    mamba mise volta nvm sops k6 locust ffmpeg exiftool steamcmd helmfile argocd istioctl linkerd flux eksctl doctl hcloud rclone restic borg
    jupyter papermill dvc wandb mlflow torchrun accelerate ollama huggingface-cli kaggle pre-commit husky lefthook commitizen adb alembic ansible ansible-playbook apk apt apt-get argocd artisan asdf awk aws az bash bazel black brew bun
    bundle cargo cat cdk chmod chown clippy cmake composer conda consul cp createdb crontab curl cypress dd deno
    django-admin dnf docker docker-compose dotnet dropdb echo ed emacs eslint eval expo find firebase flask fly
    flyctl flyway ftp gcloud gem gh git glab go gofmt gradle gradlew grep hatch head helm heroku hg htop isort
    jest jj jq jupyter just k9s kill killall kind knex kubectl kustomize lerna less ln make manage.py meson
    minikube mix mkfs mocha mongo mongosh mv mvn mypy mysql nano nc netlify next ninja nmap node node-gyp nohup
    nomad nox npm npx nvm nx optipng packer pdm perl pg_dump pg_restore php phpunit pip pip3 pipenv pipx pkill
    playwright pm2 pnpm podman poetry prettier printf prisma ps psql pulumi pyenv pytest python python3 rails
    rake rbenv reboot redis-cli rg rm rspec rsync ruff rustc rustfmt rustup scp screen sed serverless service sh
    shred shutdown skaffold sleep snap source sqlite3 ssh su sudo supervisorctl svn swift systemctl tail tar tee
    telnet terraform tilt tmux top touch tox trash truncate tsc turbo twine unittest unzip uv uvicorn vagrant
    vault vercel vim virtualenv vite vitest wget wrangler xargs xcodebuild yarn yum zsh"""
)
"""Programs that are known by their names in plain text."""

AMBIGUOUS = words_in(
    """at black cat consul echo ed expo find flask fly go head just kill kind less make meson mix more nano next nomad
    rails reboot screen service sh shutdown sleep source su swift tail task tilt top touch trash truncate vault
    vite watch"""
)
"""The programs among those whose names are also plain words."""

STOPS = words_in(
    """a after again against all also always an and any anymore anything anywhere are as at be because been before
    being binary both but by can cli command commands could did directly do does done down- e.g each either etc
    even ever every everything everywhere fine first for from get gets globally her here himself his i i.e if in
    inside instead into is it its itself just like locally manually may me might must my myself neither new no
    nor not now of off ok okay on one only or our out outside over per please really s should since so some
    start starts still than that the their them then there these this those till to too tool tools under unless
    unprompted until up us use using via we when while will with within without would yet you your yourself"""
)
"""Words that are never a part of a command."""
