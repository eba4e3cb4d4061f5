"""Things by what people call them: well-known files, and groups of commands. Tables, pure."""

import re
from collections.abc import Mapping

__all__ = ["ACTS", "CONCEPTS", "GROUPS", "PLACES"]


def _listed(text: str) -> tuple[str, ...]:
    return tuple(" ".join(text.split()).split(", ")) if text else ()


_TEST_RUNS = _listed(
    """pytest, tox, nox, jest, vitest, mocha, go test, cargo test, npm test, npm run test, yarn test, pnpm test,
    make test, phpunit, rspec, gradle test, mvn test, dotnet test, mix test, bun test, ctest, unittest, rake
    test, rails test, manage.py test, playwright test, cypress run, pnpm run test, make check"""
)
_SERVERS = _listed(
    """npm run dev, npm start, npm run start, yarn dev, yarn start, pnpm dev, pnpm run dev, pnpm start, vite, next
    dev, flask run, uvicorn, gunicorn, rails server, rails s, manage.py runserver, nodemon, bun dev, bun run
    dev, make dev, make serve, make run, npm run serve, hugo server, jekyll serve, python manage.py
    runserver, http.server"""
)
_MIGRATES = _listed(
    """manage.py migrate, python manage.py migrate, alembic upgrade, alembic downgrade, prisma migrate, prisma db
    push, knex migrate:latest, rails db:migrate, rake db:migrate, flyway migrate, npm run migrate, make
    migrate, sqlx migrate run, goose up, diesel migration run, typeorm migration:run, npm run db:migrate,
    drizzle-kit push, drizzle-kit migrate, sequelize db:migrate, flask db upgrade, php artisan migrate, mix
    ecto.migrate, pnpm migrate, yarn migrate"""
)
_DEPLOYS = _listed(
    """deploy, deploy.sh, npm run deploy, make deploy, fly deploy, flyctl deploy, vercel deploy, vercel --prod, netlify deploy, kubectl
    apply, kubectl rollout, helm upgrade, helm install, terraform apply, serverless deploy, sls deploy,
    firebase deploy, cdk deploy, ansible-playbook, gcloud app deploy, gcloud run deploy, cap production
    deploy, wrangler deploy, wrangler publish, pulumi up, eb deploy, railway up, heroku deploy, sam deploy,
    kamal deploy, yarn deploy, pnpm deploy, docker stack deploy, amplify publish, bun deploy"""
)
_PUBLISHES = _listed(
    """npm publish, pnpm publish, yarn publish, cargo publish, twine upload, poetry publish, uv publish, gem push,
    gh release create, hatch publish, flit publish, lerna publish, mvn deploy, npm run release, make
    release, make publish, yarn npm publish, vsce publish, changeset publish, goreleaser release, pod trunk
    push, bun publish, dart pub publish"""
)
_INSTALLS = _listed(
    """npm install, npm i, npm add, yarn add, pnpm add, pnpm install, pnpm i, bun add, bun install, pip install,
    pipx install, uv add, uv pip install, poetry add, cargo add, cargo install, go get, go install, gem
    install, apt install, apt-get install, brew install, composer require, pipenv install, conda install,
    mamba install, dnf install, yum install, apk add, pdm add, pacman -S, snap install, uv tool install, rye
    add, dotnet add, flutter pub add, bundle add"""
)
_UPGRADES = _listed(
    """npm update, npm upgrade, yarn upgrade, yarn up, pnpm update, pnpm up, pip install -U, pip install --upgrade,
    poetry update, cargo update, go get -u, bundle update, brew upgrade, apt upgrade, apt-get upgrade, uv
    lock --upgrade, ncu -u, npm audit fix, uv sync --upgrade, composer update, bun update, mix deps.update,
    conda update, npm-check-updates -u"""
)
_PLACES: Mapping[str, str] = {
    "dotfiles": "~/.*",
    "home directory, home folder": "~",
    "markdown file, markdown files": "*.md *.mdx",
    "python file, python files": "*.py",
    "typescript file, typescript files": "*.ts *.tsx",
    "javascript file, javascript files": "*.js *.jsx *.mjs",
    "json file, json files": "*.json",
    "yaml file, yaml files": "*.yaml *.yml",
    "sql file, sql files": "*.sql",
    "css file, css files, stylesheets": "*.css *.scss",
    "html file, html files": "*.html",
    "shell file, shell files": "*.sh",
    "proto file, proto files, protos": "*.proto",
    "terraform file, terraform files": "*.tf *.tfvars",
    "rust file, rust files": "*.rs",
    "go file, go files": "*.go",
    "c file, c files": "*.c *.h",
    "header file, header files": "*.h *.hpp",
    "notebook file, notebook files, notebooks": "*.ipynb",
    "csv file, csv files": "*.csv",
    "toml file, toml files": "*.toml",
    "xml file, xml files": "*.xml",
    "log file, log files": "*.log",
    "doc file, doc files, documentation file, documentation files": "*.md docs README*",
    "readme file, readme files, readmes, readme": "README*",
    "vue file, vue files": "*.vue",
    "svg file, svg files": "*.svg",
    "java file, java files": "*.java",
    "kotlin file, kotlin files": "*.kt",
    "swift file, swift files": "*.swift",
    "markdown": "*.md",
    "build files": "Makefile build.gradle CMakeLists.txt",
    "build output": "dist build out target",
    "build artifacts": "dist build out target *.o *.pyc",
    "binaries": "*.exe *.dll *.so *.bin",
    "node modules": "node_modules",
    "dockerfiles and compose files": "Dockerfile* docker-compose*",
    "compose files": "docker-compose* compose*.y*ml",
    "helm charts": "charts helm",
    ".env, .env files, .env file, .envs, env vars file, env file, env files, dotenv": ".env .env.* .envrc",
    "terraform state, state files": "*.tfstate",
    "test data": "testdata fixtures",
    "test fixtures, fixtures": "fixtures __fixtures__",
    "translations, translation files": "locales translations i18n *.po",
    "locales": "locales i18n",
    "seeds": "seeds seed*",
    "schema": "schema.*",
    "tests, test files, specs, unit tests, test suite": "tests test __tests__ spec specs e2e test_*.* *_test.* *_spec.* *.test.* *.spec.* conftest.py",
    "migrations, migration files": "migrations migrate alembic/versions",
    "docs, documentation": "docs doc",
    "lock files, lockfile, lockfiles, lock file": "package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock Pipfile.lock "
    "Cargo.lock Gemfile.lock composer.lock go.sum bun.lock bun.lockb *.lock pdm.lock mix.lock",
    "secrets, credentials": ".env .env.* .envrc secrets *.pem *.key secrets.* credentials*",
    "ci, ci config, ci files, workflows, pipeline, github actions, workflow files": ".github/workflows .gitlab-ci.yml .circleci Jenkinsfile azure-pipelines.yml .travis.yml .buildkite .drone.yml",
    "snapshots, snapshot files": "__snapshots__ *.snap snapshots",
    "golden files": "golden goldens *.golden testdata",
    "goldens": "golden goldens *.golden",
    "vendored code, vendored": "vendor third_party vendored",
    "vendor code, third-party code": "vendor third_party",
    "generated code, generated files": "gen generated __generated__ *_pb2.py *.pb.go *.g.dart *.generated.*",
    "changelog": "CHANGELOG*",
    "license": "LICENSE*",
    "makefile": "Makefile",
    "dockerfile, dockerfiles": "Dockerfile*",
    "gitignore": ".gitignore",
    "git history": ".git",
    "editor config": ".editorconfig .vscode .idea",
}
PLACES: Mapping[str, tuple[str, ...]] = {
    name: tuple(globs.split()) for names, globs in _PLACES.items() for name in names.split(", ")
}
"""Well-known files, by what people call them, each with its globs."""

_CONCEPTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        r"force[ -]?push(?:es|ing|ed)?|push(?:es|ing)? (?:with|by) force",
        "command",
        _listed("git push --force, git push --force-with-lease"),
    ),
    (
        r"(?:hard[ -]reset|reset(?:ting)? hard)s?",
        "command",
        _listed("git reset --hard"),
    ),
    (
        (r"(?:parallel |other |any |more )*(?:sub[ -]?agents?|agents?)|parallel tasks|background agents?|"
        r"other agents|(?:task|agent) tools?"),
        "agent",
        (),
    ),
    (
        (r"web[ -]?(?:search(?:es)?|fetch(?:es)?|access|browsing|pages?)|search(?:ing)? the (?:web|"
        r"internet)|(?:the )?(?:web|internet)|online|google|network (?:calls?|access|requests?|traffic)"),
        "fetch",
        _listed("curl, wget"),
    ),
    (
        r"sudo|root (?:rights|privileges|access)",
        "command",
        _listed("sudo"),
    ),
    (
        (r"(?:new |any |extra |additional |other |more |third[ -]party |external |"
        r"further )*(?:dependenc(?:y|ies)|deps|packages?|librar(?:y|ies)|modules)"),
        "install",
        _INSTALLS,
    ),
    (
        r"(?:new |any )*(?:npm packages?|node packages?|npm modules?)",
        "install",
        _INSTALLS[:7],
    ),
    (
        r"(?:new |any )*(?:python packages?|pypi packages?)",
        "install",
        _listed("pip install, uv add, poetry add, uv pip install, conda install"),
    ),
    (
        (r"(?:whole|full|entire|complete) (?:test[ -])?suite|all (?:the |of the )?tests|(?:whole|full|"
        r"entire|complete) tests?|everything in the test suite"),
        "full-tests",
        _TEST_RUNS,
    ),
    (
        r"(?:e2e|end-to-end)(?: tests?| suite)?",
        "run",
        _listed(
            "playwright test, cypress run, npm run test:e2e, npm run e2e, yarn e2e, pnpm e2e, make e2e, pnpm "
            "test:e2e, yarn test:e2e, npx playwright, pytest tests/e2e"
        ),
    ),
    (
        r"(?:unit )*(?:test[ -]suite|test runner|unit tests|tests?)(?! (?:files?|folders?|data|code)\b)",
        "tests",
        _TEST_RUNS,
    ),
    (
        r"(?:dev(?:elopment)?[ -]?|local )servers?|server",
        "server",
        _SERVERS,
    ),
    (
        r"(?:database |db )*migrations?",
        "migrations",
        _MIGRATES,
    ),
    (
        r"(?:new )*(?:pull[ -]requests?|prs?|merge requests?|mrs?)",
        "pull",
        (),
    ),
    (
        r"background(?: (?:jobs?|process(?:es)?|tasks?|commands?))?",
        "aside",
        (),
    ),
    (
        r"(?:other )*(?:running )?(?:process(?:es)?)",
        "processes",
        _listed("kill, pkill, killall"),
    ),
    (
        r"(?:any |new |the )*(?:github |gitlab )?issues?",
        "issue",
        (),
    ),
    (
        r"global(?:ly)? install(?:s|ed|ations?)?|install\w* (?:\w+ ){0,2}globally|global packages",
        "command",
        _listed("npm install -g, npm i -g, yarn global add, pnpm add -g, npm add -g"),
    ),
    (
        r"(?:production |prod |live |dev |local |test )?(?:databases?|dbs?|tables?)",
        "database",
        _listed("dropdb"),
    ),
    (
        r"(?:the )?(?:browsers?|headless browser|chrome|screenshots?)(?: tools?| automation| mcp)?",
        "browser",
        (),
    ),
    (
        r"(?:any |the |all )*mcp(?:s| tools?| servers?)?",
        "mcp",
        (),
    ),
    (
        (r"(?:my |our |any |the |all )*(?:uncommitted |local |unstaged |pending |unsaved |working |"
        r"in-progress )+(?:changes|work|edits|modifications|stuff|files)|work in progress|my (?:changes|"
        r"edits|wip)"),
        "discard",
        _listed(
            "git checkout ., git checkout --, git restore, git reset --hard, git clean, git stash drop, git "
            "checkout -f, git stash clear"
        ),
    ),
    (
        r"(?:code )?formatters?|formatting",
        "run",
        _listed(
            "black, prettier, ruff format, gofmt, rustfmt, isort, autopep8, cargo fmt, npm run format, make "
            "format, make fmt, go fmt, yarn format, pnpm format, biome format, clang-format, dotnet format, "
            "pnpm run format"
        ),
    ),
    (
        r"linters?|linting",
        "run",
        _listed(
            "eslint, ruff check, flake8, pylint, npm run lint, make lint, golangci-lint, cargo clippy, yarn "
            "lint, pnpm lint, rubocop, biome lint, stylelint, pnpm run lint, mypy, tsc"
        ),
    ),
    (
        r"(?:full |production |prod |release |docker )*builds?",
        "run",
        _listed(
            "npm run build, make build, cargo build, go build, docker build, yarn build, pnpm build, pnpm "
            "run build, gradle build, mvn package, mvn install, next build, vite build, docker compose "
            "build, bun run build, dotnet build, make, gradlew build"
        ),
    ),
    (
        r"benchmarks?",
        "run",
        _listed(
            "cargo bench, npm run bench, make bench, go test -bench, hyperfine, pytest-benchmark, npm run "
            "benchmark, make benchmark"
        ),
    ),
    (
        r"(?:the |git |published |shared )*history",
        "history",
        _listed("git rebase, git commit --amend, git push --force, git filter-branch, git filter-repo"),
    ),
    (
        r"(?:git )?worktrees?",
        "command",
        _listed("git worktree"),
    ),
    (
        r"submodules?",
        "command",
        _listed("git submodule"),
    ),
    (
        r"cron ?jobs?|crontabs?",
        "command",
        _listed("crontab"),
    ),
    (
        r"(?:git |pre-commit |pre-push |commit )*hooks?(?: checks?)?",
        "hooks",
        _listed("git commit --no-verify, git push --no-verify"),
    ),
    (
        r"git commits?|commits?(?: of any kind)?",
        "verb",
        _listed("commit"),
    ),
    (
        r"git pushe?s?|pushes",
        "verb",
        _listed("push"),
    ),
    (
        r"merges",
        "verb",
        _listed("merge"),
    ),
    (
        r"rebases|rebasing",
        "verb",
        _listed("rebase"),
    ),
    (
        r"stashes|stashing",
        "verb",
        _listed("stash"),
    ),
    (
        r"deploy(?:s|ments?)",
        "verb",
        _listed("deploy"),
    ),
    (
        r"amends|amending",
        "verb",
        _listed("amend"),
    ),
)  # fmt: skip
CONCEPTS = tuple((re.compile(rf"(?:{words})(?![\w/.-])"), kind, commands) for words, kind, commands in _CONCEPTS)
"""The expression, the kind of thing, and the commands that are it."""

ACTS: Mapping[str, tuple[str, ...]] = {
    "deploy": _DEPLOYS,
    "publish": _PUBLISHES,
    "install": _INSTALLS,
    "stash": ("git stash",),
    "tag": ("git tag",),
    "amend": ("git commit --amend",),
    "squash": ("git merge --squash", "git rebase -i"),
    "reset": ("git reset",),
    "stage": ("git add",),
    "approve": ("gh pr review --approve",),
    "upgrade": _UPGRADES,
    "kill": ("kill", "pkill", "killall"),
    "prune": ("docker system prune", "docker volume prune", "git prune"),
}
"""The commands of a verb that stands alone."""

GROUPS: Mapping[str, tuple[str, ...]] = {"tests": _TEST_RUNS, "servers": _SERVERS, "migrates": _MIGRATES}
"""More groups of commands, by name."""
