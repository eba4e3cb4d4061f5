"""The rows of the table of things about what is done with git, forges, clouds, databases and tests. A text that is read once; a row is a block, its names come first. Pure.

Law: only what is meant by most people who say the word. A call that no row has is added to the row of its thing.
"""

__all__ = ["ACT_ROWS"]

ACT_ROWS = """
push, git push, pushes
does: push

force push, push force, force pushing, force with lease, forced push
run: git push --force, git push --force-with-lease

commit, git commit, commits, check in, checking in, into git, in git
does: commit

merge, git merge
does: merge

merge commit, merge commits
run: git merge --no-ff, git pull --no-rebase, git pull --no-ff

interactive rebase
run: git rebase -i

commit message, commit title, commit subject, commit body, commit log, pr description, pr title

new file, extra file, additional file, more file
does: create

lfs, lfs pull, git lfs, lfs object
run: git lfs

clone, cloning, git clone
run: git clone

rebase, git rebase, rebasing
does: rebase

pull, git pull
does: pull

cherry pick, cherry picks, cherry picking
does: cherry-pick

revert, git revert
does: revert

squash, squashing, squash merge
run: git merge --squash, git rebase -i, gh pr merge --squash

amend, amending, git amend
run: git commit --amend

stash, git stash, stashes, stashing
run: git stash

tag, git tag, tags, tagging, version tag, release tag
run: git tag
changes: 1
run: git push --tags, git push --follow-tags, gh release create, npm version

branch switch, switching branch, branch hopping, other branch, different branch
does: switch

new branch, creating branch, branch off
does: branch

branch, branches, feature branch
delete: git branch -d, git branch -D, git push --delete, gh pr merge --delete-branch
create: git checkout -b, git switch -c
gone: unbranch

worktree, worktrees
run: git worktree add, git worktree remove

submodule, submodules
run: git submodule

git clean, untracked file, untracked files, untracked work
harm: git clean
run: git clean

history, git history, commit history, past commits
harm: git rebase, git commit --amend, git push --force, git push --force-with-lease, git filter-branch, git filter-repo, git reset --hard, bfg

working tree, working copy, uncommitted change, uncommitted work, local change, wip, unsaved work, my changes, unstaged change
harm: git checkout ., git checkout --, git restore, git reset --hard, git clean, git stash, git checkout -f

hard reset, reset hard
run: git reset --hard

reset, git reset
run: git reset

staging area, index, stage, staging changes
run: git add

git config, gitconfig, git settings
harm: git config
files: .gitconfig .git/config

hook, git hook, pre commit hook, commit hook, pre push hook, husky, pre commit, hooks, pre commit check
bypass: git commit --no-verify, git push --no-verify, git commit -n, git merge --no-verify
files: .husky .git/hooks .pre-commit-config.yaml .githooks
run: pre-commit run

co author, co authored by, co authored, co author line, coauthor, trailer, signature
text: co-authored-by, generated with, 🤖

attribution, ai attribution, ai credit, claude credit, claude attribution, generated with
text: co-authored-by: claude, co-authored-by: codex, co-authored-by: copilot, co-authored-by: cursor, co-authored-by: gemini, generated with, 🤖

emoji, emojis, robot emoji, smiley
text: 🤖, 🎉, ✨, 🚀, 🐛, ✅, 🔥, ♻️, 📝, 🔧, 💥, ⚡, 🎨, 🧪, 🛠, 🙂, 👍, :sparkles:, :bug:, :rocket:, :tada:

wip commit, wip message
text: wip

pull request, pr, prs, merge request, mr, mrs, pull requests
run: gh pr create, glab mr create, hub pull-request, gh pr merge, glab mr merge
harm: gh pr edit, gh pr close, gh pr merge, gh pr comment, gh pr review, gh pr ready, glab mr update, glab mr close
create: gh pr create, glab mr create, hub pull-request
merge: gh pr merge, glab mr merge
close: gh pr close, glab mr close
send: gh pr comment, gh pr review, glab mr note
tool: pull_request, merge_request

issue, github issue, ticket, bug report, tickets, issues, jira ticket, linear ticket, backlog, story, board, task board
run: gh issue create, glab issue create
harm: gh issue create, gh issue edit, gh issue close, gh issue comment, glab issue create, glab issue close
create: gh issue create, glab issue create
close: gh issue close, glab issue close
send: gh issue comment, glab issue note
tool: issue, ticket
server: jira, linear

review, code review, approving, approve, approval
run: gh pr review, gh pr review --approve

release, releases, releasing, github release, cut release, version bump
run: <publish>, gh release create, gh release edit, gh release upload, npm version, cargo release, semantic-release, release-it, git tag -a, np, standard-version, bumpversion, bump2version, bump-my-version, poetry version, mvn release:perform
tool: create_release

publish, publishing, registry, npm registry, pypi, crates io, package registry
run: <publish>, cargo release, npm dist-tag, npm unpublish, docker push, np, mvn release:perform, gradle publish, swine, jsr publish, uv publish, deno publish, sbt publish, nuget push, dotnet nuget push, dart pub publish, pub publish, python setup.py upload

crate publish, publishing crate
run: cargo publish, cargo release

docker push, image push, pushing image, container registry, docker registry, docker hub
run: docker push, docker buildx build --push, podman push, crane push, docker compose push

deploy, deploying, rollout, roll out, ship, shipping, go live, deployment
run: <deploy>, kubectl set, cdk destroy, nomad job run, argocd app sync, skaffold run, cf push, eas submit, eas update, fastlane, dokku, docker service update, flyctl deploy, az webapp up, now, surge, gh workflow run deploy.yml, copilot deploy, nixos-rebuild switch, rsync -e, mix release, cap

infrastructure, infra, infra change, cloud resource, stack, stacks, cloud
harm: terraform apply, terraform destroy, terraform import, terraform taint, tofu apply, tofu destroy, pulumi up, pulumi destroy, cdk deploy, cdk destroy, aws cloudformation deploy, aws cloudformation delete-stack, aws cloudformation create-stack, aws cloudformation update-stack, ansible-playbook
run: terraform apply, terraform destroy, tofu apply, pulumi up, pulumi destroy, cdk deploy
files: infra infrastructure terraform

tf state, terraform state, tfstate, state file, state
files: *.tfstate *.tfstate.backup
harm: terraform state rm, terraform state mv, terraform state push, terraform import, terraform taint, terraform force-unlock

cluster, k8s, kubernetes, kube, pod, pods, namespace, cluster resource
harm: kubectl apply, kubectl delete, kubectl scale, kubectl rollout, kubectl edit, kubectl patch, kubectl create, kubectl exec, kubectl drain, kubectl cordon, kubectl set, kubectl replace, helm install, helm upgrade, helm uninstall, helm rollback, kubectl annotate, kubectl label
run: kubectl, helm, k9s, oc
delete: kubectl delete, helm uninstall
stop: kubectl delete, kubectl rollout restart, kubectl scale

prod, live system, live, prod system, prod environment, prod server, prod box, live server, live environment, live site, prod cluster, prod databas, live databas, live data, prod data
word: prod, production, live, prd

staging, staging environment, staging server, staging databas, stage environment
word: staging, stg, stage

bucket, s3, s3 bucket, object storage, blob storage, gcs, gcs bucket
delete: aws s3 rm, aws s3 rb, aws s3api delete-object, aws s3api delete-objects, aws s3api delete-bucket, aws s3 sync --delete, aws s3 mv, gsutil rm, gsutil -m rm, gsutil rb, gcloud storage rm, az storage blob delete, rclone delete, rclone purge, rclone sync, mc rm, mc rb, s3cmd del, s3cmd rm
harm: aws s3 cp, aws s3 mv, aws s3 rm, aws s3 rb, aws s3 mb, aws s3 sync, aws s3api put-object, aws s3api delete-object, aws s3api delete-objects, gsutil cp, gsutil rm, gsutil mv, gsutil rsync, gcloud storage rm, gcloud storage cp, az storage blob upload, az storage blob delete, rclone sync, rclone copy, rclone delete, mc rm, mc cp, s3cmd put, s3cmd del
run: aws s3, aws s3api, gsutil, gcloud storage, rclone, s3cmd
create: aws s3 cp, aws s3 mb, aws s3 sync, gsutil cp, gcloud storage cp

dns, dns record, domain, hosted zone, dns zone, dns zone file, zone file
files: dns *.zone
harm: aws route53 change-resource-record-sets, gcloud dns record-sets, doctl compute domain, cloudflare, flarectl, az network dns
server: cloudflare

secret manager, vault, secrets manager, parameter store, keychain
harm: vault write, vault kv put, vault delete, aws secretsmanager put-secret-value, aws secretsmanager create-secret, aws secretsmanager delete-secret, gh secret set, gh secret delete, aws ssm put-parameter, gcloud secrets
read: vault read, vault kv get, aws secretsmanager get-secret-value, gcloud secrets versions access, aws ssm get-parameter, op read, op item get, security find-generic-password, pass show, sops -d, sops --decrypt
run: vault, aws secretsmanager, gcloud secrets, op, security find-generic-password, sops

databas, databas data, table, tables, db content, sql database, schema, data in database
delete: dropdb, prisma migrate reset, rails db:reset, rails db:drop, rake db:reset, rake db:drop, npm run db:reset, supabase db reset, manage.py flush, make db-reset, make reset-db, mix ecto.reset, mix ecto.drop, artisan migrate:fresh, artisan db:wipe, pnpm db:reset, yarn db:reset, redis-cli flushall, prisma db push --force-reset, db.dropDatabase
harm: dropdb, createdb, pg_restore, prisma migrate, prisma db push, rails db:migrate, rails db:reset, rails db:drop, rails db:seed, manage.py migrate, manage.py flush, alembic upgrade, alembic downgrade, supabase db reset, supabase db push, redis-cli flushall, artisan migrate, mix ecto.reset, mix ecto.migrate, npm run db:reset, npm run db:migrate, make migrate
run: psql, mysql, mongosh, mongo, sqlite3, redis-cli, clickhouse-client, snowsql, sqlcmd, duckdb, mariadb, bq
read: psql, mysql, mongosh, mongo, sqlite3, redis-cli, clickhouse-client, snowsql, duckdb, pg_dump, mysqldump, bq
kill: drop database, drop table, drop schema, truncate , delete from
sql: insert into, update , delete from, drop , alter , truncate , create table, create index, replace into, merge into, grant , flushall, flushdb, deletemany, updatemany, insertmany, deleteone, updateone, insertone

warehouse, data warehouse, bigquery, snowflake, redshift
harm: bq rm, bq mk, bq load, bq cp, bq update, dbt run, dbt seed, dbt build
run: bq, snowsql, dbt
sql: insert into, update , delete from, drop , alter , truncate , create table, create or replace, merge into

insert, inserts, insert statement
sql: insert into

update statement, sql update, update query
sql: update

delete statement, delete query, sql delete
sql: delete from

drop statement, drop table, dropping table, drops
sql: drop
run: dropdb

truncate table, truncates
sql: truncate

alter table, schema change, ddl, alter statement, schema changes
sql: alter , create table, drop , create index, rename table

write query, write to databas, sql write, data modification, dml, writing query, mutation query
sql: insert into, update , delete from, drop , alter , truncate , merge into, replace into

redis, cache server
harm: redis-cli flushall, redis-cli flushdb, redis-cli del, redis-cli set, redis-cli config
run: redis-cli

migration, migrations, databas migration, db migration, schema migration, migration script, migrate
files: migrations migrate alembic/versions
run: <migrates>, manage.py makemigrations, alembic revision, prisma migrate dev, prisma migrate deploy, dotnet ef database update, liquibase update, dbmate up, atlas migrate apply, supabase db push, supabase migration up, migrate, bin/rails db:migrate, rails db:rollback, alembic stamp, goose down, goose, bundle exec rake db:migrate
create: manage.py makemigrations, alembic revision, prisma migrate dev, rails generate migration, rails g migration, knex migrate:make, diesel migration generate

seed, seeds, seed data, seed script, seeding
files: seeds seed*
run: rails db:seed, prisma db seed, npm run seed, npm run db:seed, pnpm seed, pnpm db:seed, yarn seed, make seed, knex seed:run, manage.py loaddata, artisan db:seed, seed, seed.ts, seed.js, seed.py, seed.sh, manage.py seed

backup, backups, dump, db dump, database dump, databas backup
files: backup backups *.bak dumps *.dump
run: pg_dump, mysqldump, mongodump, pg_restore, mysqlpump
read: pg_dump, mysqldump, mongodump

test suite, whole test suite, full test suite, entire test suite, all tests, whole test, full test, entire suite, whole suite, full suite, complete test suite, complete suite
whole: <tests>, make test-all, npm run test:all, make check, yarn test:all

test, tests, test file, unit test, test case, test code, test run
files: tests test __tests__ spec specs e2e test_*.* *_test.* *_spec.* *.test.* *.spec.* conftest.py
run: <tests>, yarn jest, karma, ava, bats, go test, swift test, flutter test, dart test, deno test, xcodebuild test, node --test, sbt test, lein test, cabal test, stack test, busted, pnpm vitest, bin/rspec, bazel test, nx test, turbo test, turbo run test

e2e, e2e test, end to end, end to end test, e2e suite, integration test, browser test, playwright test, cypress test, ui test, smoke test
run: playwright test, cypress run, cypress open, npm run test:e2e, npm run e2e, yarn e2e, pnpm e2e, make e2e, pnpm test:e2e, yarn test:e2e, pytest tests/e2e, pytest tests/integration, npm run test:integration, make integration, make test-integration, go test -tags, pytest -m integration, detox test, maestro test, yarn test:integration, pnpm test:integration, wdio, e2e
files: e2e cypress

load test, stress test, perf test, performance test
run: k6, locust, artillery, wrk, ab, hey, vegeta, jmeter, gatling, siege, bombardier

benchmark, benchmarks, bench, benches
run: cargo bench, npm run bench, make bench, go test -bench, hyperfine, pytest-benchmark, npm run benchmark, make benchmark, pytest --benchmark-only, bench, asv
files: benches bench benchmarks

snapshot, snapshots, snapshot file, jest snapshot, pytest snapshot, test snapshot, snap
files: __snapshots__ *.snap snapshots
harm: jest -u, vitest -u, jest --updateSnapshot, vitest --update, npm test -u, npm test -- -u, yarn test -u, pnpm test -u, playwright test --update-snapshots, playwright test -u, pytest --snapshot-update, cargo insta accept, cargo insta review, pytest --inline-snapshot, yarn jest -u, npm test --updateSnapshot, pytest --force-regen

golden, goldens, golden file, reference image, baseline, baselines, expected output
files: golden goldens *.golden golden_files baseline baselines expected
harm: go test -update, pytest --update-golden, flutter test --update-goldens, pytest --force-regen, pytest --regen

fixture, fixtures, test data, test fixture
files: fixtures __fixtures__ testdata test_data cassettes

cassette, cassettes, vcr
files: cassettes
harm: pytest --record-mode

format, formatter, formatting, reformat, auto format, code formatter
run: black, prettier --write, prettier -w, ruff format, gofmt -w, rustfmt, isort, autopep8, cargo fmt, npm run format, make format, make fmt, go fmt, yarn format, pnpm format, biome format, biome check --write, clang-format -i, dotnet format, pnpm run format, yapf, terraform fmt, swiftformat, ktlint -F, dart format, mix format, stylua, shfmt -w, goimports -w, gofumpt -w, google-java-format, spotlessApply, gradle spotlessApply, npm run prettier, dprint fmt, deno fmt, zig fmt, nixfmt, alejandra, elm-format, ormolu, fourmolu, pint, php-cs-fixer

lint, linter, linting, lint run
run: eslint, ruff check, flake8, pylint, npm run lint, make lint, golangci-lint, cargo clippy, yarn lint, pnpm lint, rubocop, biome lint, stylelint, pnpm run lint, biome check, oxlint, tslint, standard, swiftlint, ktlint, hadolint, shellcheck, lint, hlint, credo

auto fix, autofix, lint fix, auto fixing, auto fixer
run: eslint --fix, ruff check --fix, ruff --fix, npm run lint:fix, rubocop -a, rubocop -A, biome check --write, biome check --apply, cargo clippy --fix, golangci-lint run --fix, stylelint --fix, npm run fix, yarn lint --fix, pnpm lint --fix, npm run lint -- --fix, cargo fix

typecheck, type check, type checker, typechecker
run: mypy, tsc, pyright, npm run typecheck, flow, ty check, make typecheck, yarn typecheck, pnpm typecheck, vue-tsc, npm run type-check, basedpyright

build, builds, full build, compile, compiling, release build, prod build, rebuild
run: npm run build, make build, cargo build, go build, docker build, yarn build, pnpm build, pnpm run build, gradle build, mvn package, mvn install, next build, vite build, docker compose build, bun run build, dotnet build, gradlew build, make all, cmake --build, ninja, bazel build, xcodebuild build, xcodebuild, gradlew assemble, gradlew assembleRelease, swift build, turbo build, turbo run build, nx build, webpack, tsc --build, rollup, stack build, cabal build, mvn verify, sbt compile, ng build, expo build, eas build, flutter build, zig build, meson compile, west build, idf.py build, cargo build --release, python -m build, uv build
whole: make

docker build, image build, building image, docker image
run: docker build, docker compose build, docker buildx build, podman build, docker compose up --build, kaniko
harm: docker rmi, docker image prune, docker image rm, docker system prune

docker volume, volume, volumes, named volume
harm: docker volume rm, docker volume prune, docker compose down -v, docker compose down --volumes, docker system prune --volumes, docker compose rm -v, podman volume rm, docker rm -v

container, docker container, containers, running container, docker compose, compose stack, docker stack
harm: docker stop, docker rm, docker kill, docker compose down, docker compose stop, docker compose rm, docker restart, docker compose restart, docker container prune, docker container rm, docker system prune, podman stop, podman rm, docker compose kill, docker container stop
stop: docker stop, docker rm, docker kill, docker compose down, docker compose stop, docker restart, docker compose restart, podman stop, docker compose kill, docker compose rm
run: docker run, docker compose up, docker start, podman run, docker create, docker compose run
create: docker run, docker compose up, docker create

docker prune, docker cleanup, prune, pruning
run: docker system prune, docker volume prune, docker image prune, docker container prune, docker builder prune, docker network prune, git prune, git fetch --prune, git remote prune

dev server, local server, server, development server, servers, devserver, watcher, watch mode, preview server
run: <servers>, jupyter lab, jupyter notebook, php -S, hugo server, rails server, python -m http.server, ng serve, storybook, npm run storybook, yarn vite, tsc --watch, jest --watch, vitest --watch, webpack serve, serve, npm run watch, nodemon, mix phx.server, docker compose up, air, cargo watch, make up, bin/dev, foreman start, overmind start, trunk serve, astro dev, nuxt dev, streamlit run, gradio, fastapi dev, php artisan serve, bundle exec rails s, yarn storybook, deno serve, quarto preview, mkdocs serve, next start
stop: kill, pkill, killall, kill-port, fuser -k, systemctl stop, systemctl restart, docker stop, docker compose down, docker compose stop, docker compose restart, npx kill-port, pm2 stop, pm2 restart, pm2 delete, supervisorctl stop, supervisorctl restart

jupyter server, jupyter, notebook server
run: jupyter lab, jupyter notebook, jupyter server, jupyter-lab

process, processes, running process, running job, pid, my processes
stop: kill, pkill, killall, kill-port, fuser -k, systemctl stop, systemctl restart, npx kill-port, pm2 stop, pm2 restart, pm2 delete, xkill, skill
harm: kill, pkill, killall, kill-port, fuser -k, pm2 stop, pm2 restart, pm2 delete

port, ports
stop: kill, pkill, killall, kill-port, fuser -k, npx kill-port

tmux, tmux session, screen session, my session
stop: tmux kill-session, tmux kill-server, tmux kill-window, tmux kill-pane, screen -X
harm: tmux kill-session, tmux kill-server, tmux kill-window, tmux send-keys, tmux kill-pane, screen -X
run: tmux, screen

background, background process, background job, background task, daemon, detached process
does: aside
run: nohup, setsid, disown, screen, tmux, pm2 start

system service, service restart, systemd, systemd unit, systemd service, services, daemons
harm: systemctl restart, systemctl stop, systemctl start, systemctl enable, systemctl disable, systemctl mask, service restart, service stop, launchctl unload, launchctl load, brew services, supervisorctl restart, systemctl reload
stop: systemctl restart, systemctl stop, launchctl unload, brew services stop, supervisorctl restart, supervisorctl stop
run: systemctl
files: /etc/systemd

reboot, restart machine, shutdown, power off, machine restart
run: reboot, shutdown, poweroff, halt, systemctl reboot, systemctl poweroff, init

cron, crontab, cron job, scheduled job, cronjob
harm: crontab, systemctl enable
run: crontab
files: /etc/cron.d crontab

firewall, iptables, firewall rule
harm: iptables, ufw, nft, firewall-cmd
run: iptables, ufw, nft, firewall-cmd

sudo, root, root right, root access, superuser, as root, elevated right, admin right
run: sudo, su, doas

permission, file permission, permissions, file mode, ownership, access right
harm: chmod, chown, chgrp, setfacl

global install, globally, install globally, global package, system package, system wide, system wide install, globaly, os package, system install, homebrew
run: npm install -g, npm i -g, yarn global add, pnpm add -g, npm add -g, brew install, apt install, apt-get install, dnf install, yum install, pacman -S, gem install, cargo install, go install, pipx install, uv tool install, snap install, port install, apk add, bun add -g, choco install, winget install, npm link, brew upgrade, volta install, apt upgrade, apt-get upgrade
"""
