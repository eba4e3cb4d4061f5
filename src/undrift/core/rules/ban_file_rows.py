"""The rows of the table of things about packages, the network, other tools and files. A text that is read once; a row is a block, its names come first. Pure.

Law: only what is meant by most people who say the word. A call that no row has is added to the row of its thing.
"""

__all__ = ["FILE_ROWS"]

FILE_ROWS = """
install, installing, new dependency, dependency, new package, package, extra dependency, additional package, third party package, third party library, external library, new library, library, new module, npm package, python package, extra library, new dep, installation
run: <install>
depend: 1
upgrade: <upgrade>

dependency upgrade, upgrade, upgrading, dependency update, dependency bump, bump version, version upgrade, package upgrade, bump dependency, bumping dependency, newer version, update dependency
run: <upgrade>, npm install @latest, pnpm add @latest, yarn upgrade-interactive, npx npm-check-updates, cargo upgrade, renovate, pip-compile --upgrade, uv lock -U, poetry add @latest, go get, npm audit fix, uv sync -U, bundle update

pod install, cocoapods
run: pod install, pod update, pod repo, pod-install

lock file, lockfile, lock files, package lock
files: package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml poetry.lock uv.lock Pipfile.lock Cargo.lock Gemfile.lock composer.lock go.sum bun.lock bun.lockb *.lock pdm.lock mix.lock Podfile.lock pubspec.lock flake.lock

virtualenv, venv, virtual env, virtual environment
files: .venv venv
run: python -m venv, uv venv, virtualenv, conda create
create: python -m venv, uv venv, virtualenv, conda create

node module, node modules
files: node_modules

download, downloading, big download, dataset download
run: wget, curl -o, curl -O, curl -LO, curl -sO, curl -OL, aria2c, huggingface-cli download, kaggle, gdown, yt-dlp, git lfs pull, git clone, hf download, curl -fsSL, curl -L, docker pull, ollama pull

network, internet, outside network, network access, outside world, online, network call, external api, network traffic, outbound request, outgoing request, http request, web request, network request, third party api
does: fetch
away: curl, wget, http, httpie, xh, aria2c, git clone, nc, ftp, telnet, lynx

web, web search, web page, web fetch, search the web, google, googl, search engine, stackoverflow, stack overflow, browsing, browse the web, web access, websit, duckduckgo, online search, internet search, browse, surf, surfing
does: fetch
away: curl, wget, lynx
tool: web+search, search+web, web+fetch, browse

curl, curl command
away: curl

wget
away: wget

pipe to shell, piping into shell, curl pipe bash, install script, curl bash
piped: 1

ssh, remote machine, remote host, remote server, remote box, remote shell
run: ssh, scp, rsync -e, sftp, mosh, ansible
files: .ssh

scp, file transfer, remote copy
run: scp, sftp, rsync

sub agent, subagent, agent, helper agent, background agent, parallel agent, helper, task tool, delegate, delegation, other agent, delegating, explore agent, spawn, spawning, child agent, agents, sub task, minion, assistant, swarm, worker agent
does: agent
run: claude -p, claude --print, codex exec, gemini -p, aider, cursor-agent, opencode run, claude, codex

browser, headless browser, chrome, playwright browser, browser automation, browser tool, puppeteer, chromium, browser window, safari, firefox
server: playwright, puppeteer, chrome, browser, browsermcp, chrome-devtools, selenium
tool: browser
run: playwright open, playwright codegen, playwright test --headed, xdg-open, open, google-chrome, chromium, firefox, cypress open, playwright test --ui, start, playwright screenshot

screenshot, screenshots, screen capture
tool: screenshot
run: screencapture, playwright screenshot, scrot, grim, import, adb shell screencap, xcrun simctl io

simulator, emulator, ios simulator, android emulator, device
run: xcrun simctl, emulator, adb, xcodebuild test, flutter run, npx react-native run-ios, expo run:ios, expo run:android, react-native run-android, simctl
harm: xcrun simctl erase, xcrun simctl delete, adb uninstall, adb install, xcrun simctl shutdown, adb shell pm, adb reboot, xcrun simctl install

mcp, mcp tool, mcp server, mcps, mcp call
tool: mcp__

slack, slack message, slack channel
server: slack
word: hooks.slack.com, slack_webhook_url, slack_webhook

discord, telegram, teams channel, teams message, teams chat, microsoft teams, matrix channel, chat message
server: discord, telegram, teams, matrix
word: discord.com, api.telegram.org, webhook.office.com, discord_webhook

mail, email, e mail, newsletter, emails, mails, gmail, inbox
server: gmail, mail, sendgrid, mailgun, outlook, email
run: mail, sendmail, mutt, mailx, swaks, msmtp, aws ses send-email
tool: send+email, send+mail

sms, text message, push notification, notification
server: twilio
run: twilio, notify-send, osascript, terminal-notifier
tool: notification, text+message

figma, design file
server: figma

notion, notion page, confluence, wiki, confluence page
server: notion, confluence, atlassian
files: wiki

calendar, meeting, calendar event
server: calendar, gcal, google-calendar

sentry, datadog, grafana, pagerduty, monitoring, dashboard, alert
server: sentry, datadog, grafana, pagerduty

stripe, payment provider, live stripe, payment api
server: stripe
run: stripe

linear, linear board, linear ticket, linear issue
server: linear

jira, jira board, jira issue, jira ticket
server: jira, atlassian
run: jira, acli

trello, asana, trello board, clickup
server: trello, asana, clickup

github mcp, github server
server: github

github, github api
server: github

github cli, gh cli, gh
run: gh, hub

memory, memory file, memory server, memories, knowledge graph
server: memory
files: MEMORY.md memory

gpu, gpus, training run, training, train, trainings, training job, fine tune, finetuning, model training, cuda
run: python train.py, torchrun, accelerate launch, deepspeed, python finetune.py, train.py, finetune.py, fine_tune.py, train, llamafactory-cli train, axolotl, horovodrun, sbatch, python -m train, trl, yolo train, make train, train.sh, run_train.sh, dvc repro, mpirun, run_training.py, pretrain.py, nerfstudio, ns-train, wandb agent

slurm, cluster job, job submission, batch job, sbatch, submit job
run: sbatch, srun, qsub, bsub, scancel, salloc
stop: scancel, qdel, bkill
harm: scancel, qdel, bkill

weight, model weight, checkpoint, checkpoints, model file, model checkpoint
files: checkpoints ckpt *.pt *.pth *.ckpt *.safetensors *.onnx *.h5 weights

flash, flashing, board flash, flash board, firmware upload, firmware flash, flash firmware, flash the device, board
run: st-flash, openocd, esptool.py, esptool, west flash, idf.py flash, make flash, avrdude, dfu-util, pyocd flash, JLinkExe, probe-rs run, probe-rs download, cargo flash, nrfjprog, picotool load, pio run -t, platformio run -t, bossac, stm32flash, arduino-cli upload, cargo embed, teensy_loader_cli, fastboot flash, idf.py -p, espflash flash, mpremote, ninja flash, flash.sh, JLink, cargo run

robot, actuator, motor, arm robot, hardware, serial port
run: ros2 run, ros2 launch, roslaunch, rosrun, ros2 topic pub, ros2 service call, picocom, minicom, screen /dev/ttyUSB0

contract deploy, mainnet, blockchain, transaction
run: forge script --broadcast, hardhat run, cast send, forge create, truffle migrate, anchor deploy, solana program deploy, near deploy
word: mainnet

codegen, code generator, code generation, generator, regenerate, regenerating, client generation
run: npm run generate, npm run codegen, make generate, go generate, buf generate, protoc, openapi-generator, graphql-codegen, pnpm codegen, yarn codegen, prisma generate, sqlc generate, make proto, npm run gen, dart run build_runner, openapi-typescript, orval, make codegen, yarn generate, pnpm generate, quicktype

rm rf, recursive delete, recursive rm, rm r
run: rm -rf

in place edit, sed one liner, one liner
run: sed -i, perl -pi

sed, sed script
run: sed -i

awk, perl, perl script
run: awk, gawk, perl

grep, shell grep
run: grep, egrep, fgrep

notebook, notebooks, jupyter notebook, ipynb
files: *.ipynb
run: jupyter nbconvert --execute, papermill, jupyter execute, jupyter nbconvert --inplace

pickle, pickles, pickle file
files: *.pkl *.pickle
read: 1

raw data, source data, original data, input data
files: data/raw raw raw_data data_raw

dataset, data set, datasets
files: datasets dataset

markdown, markdown file, md file, summary file, readme file
files: *.md *.mdx

readme, readme md
files: README*

doc, docs, documentation, doc file, documentation file
files: docs doc *.md README*

changelog, change log, release note
files: CHANGELOG* CHANGES* HISTORY* RELEASE_NOTES* NEWS*

license, license file, copyright, license header, licence
files: LICENSE* COPYING* NOTICE* LICENCE*

codeowner, codeowners
files: CODEOWNERS

ci, ci config, ci file, workflow, workflow file, pipeline, github action, github workflow, pipeline config, ci pipeline, ci yaml, gitlab ci, ci definition, pipeline definition, ci setup, actions workflow
files: .github/workflows .github/actions .gitlab-ci.yml .circleci Jenkinsfile azure-pipelines.yml .travis.yml .buildkite .drone.yml bitbucket-pipelines.yml
run: gh workflow run, gh run rerun, act, glab ci run, circleci
harm: gh workflow disable, gh workflow run, gh run cancel, gh run rerun

ci run, pipeline run, workflow run, triggering workflow, workflow dispatch
run: gh workflow run, gh run rerun, glab ci run, glab pipeline run, circleci, jenkins

env, env file, dotenv, env variable file, environment file, env files
files: .env .env.* .envrc *.env

secret, secrets, credential, credentials, api key, key file, private key, password, token, secret file, certificate, cert, keys, ssh key, keystore
files: .env .env.* .envrc secrets secret *.pem *.key secrets.* credentials* *.p12 *.pfx id_rsa* id_ed25519* .npmrc .netrc .pgpass *.keystore *.jks .aws/credentials *.crt *.cert certs *.kubeconfig service-account*.json *.secret
read: printenv, vault kv get, op read, aws secretsmanager get-secret-value, security find-generic-password, gh auth token, sops -d, gcloud auth print-access-token, kubectl get secret

ssh config, ssh dir, ssh key dir
files: ~/.ssh

dotfile, dotfiles, shell config, bashrc, zshrc, shell profile, shell rc, home config
files: ~/.* .bashrc .zshrc .profile .gitconfig .vimrc .bash_profile .zprofile

home dir, home directory, home folder
files: ~

etc, system file, system config, system files, hosts file
files: /etc /usr /opt /Library /System /lib /bin /boot

settings, editor setting, vscode setting, vs code setting, ide setting, editor config, ide config, idea dir
files: .vscode .idea .editorconfig *.code-workspace

claude md, agent instruction, agents md, claude config, claude setting, your own instruction, agent config
files: CLAUDE.md AGENTS.md .claude .codex .cursorrules .cursor

tsconfig, typescript config, ts config, compiler option
files: tsconfig*.json

eslint config, lint config, linter config, prettier config, formatter config, eslint rule, lint rule, linting rule, ruff config
files: .eslintrc* eslint.config.* .prettierrc* prettier.config.* .pylintrc .flake8 ruff.toml .ruff.toml .golangci.yml .golangci.yaml .rubocop.yml biome.json .stylelintrc* .swiftlint.yml clippy.toml .clang-tidy .clang-format

package json, manifest, package file, package manifest
files: package.json

requirement, requirements, requirement file
files: requirements*.txt requirements

pyproject, pyproject file
files: pyproject.toml

cargo toml
files: Cargo.toml

makefile, make file
files: Makefile GNUmakefile *.mk

dockerfile, docker file
files: Dockerfile* *.dockerfile

compose file, docker compose file, docker compose yml, compose yaml
files: docker-compose* compose.y*ml

gitignore, git ignore
files: .gitignore

build file, build script, build config, gradle file, build system
files: Makefile build.gradle* CMakeLists.txt *.cmake build.sbt pom.xml settings.gradle* webpack.config.* vite.config.* rollup.config.* BUILD BUILD.bazel WORKSPACE meson.build *.mk

build output, build artifact, dist, build dir, build folder, compiled output, artifact
files: dist build out target *.o *.pyc

generated code, generated file, generated, autogenerated code, auto generated, generated source, autogenerated, codegen output, generated client, generated type
files: gen generated __generated__ *_pb2.py *_pb2_grpc.py *.pb.go *.g.dart *.generated.* *_generated.* *.gen.* *.freezed.dart *.designer.cs *.pb.h *.pb.cc *_gen.go
generated: 1

protobuf, proto file, proto, protos, proto definition, protobuf definition, protobuf schema, idl
files: *.proto

graphql schema, graphql file
files: *.graphql *.gql

openapi, swagger, api spec, openapi spec, api contract, api definition, swagger file, openapi file
files: openapi*.y*ml openapi*.json swagger*.y*ml swagger*.json openapi.* *.openapi.yaml

sql file, schema file, sql schema
files: *.sql schema.*

linker script, linker file, memory layout, ld script, ld file
files: *.ld *.lds *.icf *.sct

device tree, dts file, dts, devicetree
files: *.dts *.dtsi *.overlay

vendored code, vendor code, vendor, vendored, third party code, third party, vendor dir, vendored dependency, vendor folder, third party source, external code, upstream code
files: vendor third_party vendored third-party external extern thirdparty

translation, translations, locale, locales, translation file, i18n, i18n file, language file, localization, localisation, string file, localized string
files: locales locale translations i18n *.po *.pot *.xlf *.arb *.strings lang l10n

terraform, terraform file, tf file, terraform code, hcl
files: *.tf *.tfvars *.hcl
harm: terraform apply, terraform destroy, terraform import, terraform state rm, terraform taint
run: terraform

helm chart, chart, charts
files: charts helm chart
harm: helm install, helm upgrade, helm uninstall

k8s manifest, kubernetes manifest, manifest file, k8s yaml, kustomize
files: k8s kubernetes manifests kustomize

css, stylesheet, style sheet, style file, scss
files: *.css *.scss *.sass *.less

html, html file, template file
files: *.html *.htm

latex, tex file, tex source, paper source, tex, bib file, bibliography
files: *.tex *.bib

csv, csv file, csvs, spreadsheet
files: *.csv *.tsv *.xlsx

parquet, parquet file
files: *.parquet

log file, log, logs, log dir
files: *.log logs log

asset, assets, image file, image, icon, art, artwork, font, media, picture, sprite
files: assets Assets images *.png *.jpg *.jpeg *.svg *.gif *.webp icons fonts *.ttf *.woff2 art sprites

prefab, scene file, scenes, unity scene, unity meta, meta file
files: *.prefab *.unity *.meta *.scene *.tscn *.asset

xcode project, pbxproj, xcodeproj, project file
files: *.pbxproj *.xcodeproj *.xcworkspace

binary, binaries, binary file, binary blob, blob
files: *.exe *.dll *.so *.bin *.a *.dylib *.jar *.wasm

type stub, stub, stubs, pyi file
files: stubs *.pyi typings

header, header file
files: *.h *.hpp *.hh

example, examples, example code, sample code, sample
files: examples example samples

script dir, script folder
files: scripts bin script

public api, api surface
files: api public

legacy, legacy code, legacy module
files: legacy

scratch, scratch dir, scratch folder, scratch file
files: scratch tmp temp
"""
