#!/bin/sh
# Starts undrift 0.1.0 for the plugin of Codex: "hook EVENT ..." as a hook of the client, "mcp" as its MCP server.
# It takes an installed undrift of this version, else uvx, else pipx, else any installed undrift. A hook never fails the
# client. `make plugins` writes the copies of this file from plugins/undrift.sh.

version='0.1.0'
mode=$1
umask 077
unset PYTHONPATH PYTHONHOME # a project sets variables of its hooks
folders=                    # of the PATH; a relative one leads into the project
IFS=:
set -f
for folder in $PATH; do
    case $folder in /*) folders=${folders:+$folders:}$folder ;; esac
done
unset IFS
set +f
PATH=$folders

home="${HOME:?}/.undrift"
kept="$home/plugin-$version-$mode" # the way that worked the last time
why="$kept.why"                    # the words of uvx and pipx if none did
wanted="undrift==$version"
if [ "$mode" = mcp ]; then wanted="undrift[mcp,vectors]==$version"; fi

works() { # true if the command starts; the server ends at the end of its input
    if [ "$mode" = mcp ]; then "$@" mcp; else "$@" --version; fi </dev/null >/dev/null 2>>"$why"
}

remembered() { # sets "found" from the note, unless the note is older than the program
    [ -r "$kept" ] && IFS= read -r found <"$kept" || return 1
    case $found in
        /*) [ -x "$found" ] && [ ! "$found" -nt "$kept" ] ;;
        pipx) command -v pipx >/dev/null 2>&1 ;;
        none) [ -z "$(find "$kept" -mmin +60)" ] && ! command -v undrift >/dev/null 2>&1 ;; # the network is asked once an hour
        *) return 1 ;;
    esac
}

look() { # sets "found": the path of a program, "pipx" or "none"
    rm -f "$why" # no link is written through
    installed=$(command -v undrift 2>/dev/null)
    found=$installed
    if [ -n "$found" ] && [ "$("$found" --version 2>/dev/null)" = "undrift $version" ] && works "$found"; then return; fi
    if command -v uvx >/dev/null 2>&1; then
        found=$(uvx --quiet --from "$wanted" python -I -c 'import sys; print(sys.prefix)' </dev/null 2>>"$why")/bin/undrift
        if [ -x "$found" ] && works "$found"; then return; fi
    fi
    found=pipx
    if command -v pipx >/dev/null 2>&1 && works pipx run --spec "$wanted" undrift; then return; fi
    found=$installed
    if [ -n "$found" ] && works "$found"; then return; fi
    found=none
}

tell() { # at the start of a session: one line in the client and one in the log of the hooks
    if [ "$speaks" ]; then
        printf '{"systemMessage": "undrift: %s"}\n' "$1"
        log="$home/hooks.log"
        [ -L "$log" ] || printf '%s plugin: %s\n' "$(date -u +%Y-%m-%dT%H:%M:%SZ)" "$1" >>"$log" 2>/dev/null
    fi
    exit 0
}

missing="version $version cannot be started, so nothing is given back. Install undrift itself: pipx install 'FOLDER[mcp,vectors]', with the folder of a clone, as no index has it yet. \
If uvx or pipx failed, ~/.undrift/plugin-$version-$mode.why says why."

mkdir -p "$home" 2>/dev/null
if [ "$mode" = hook ]; then
    speaks=
    case "$*" in
        *--part=*) ;;
        *" SessionStart "*) speaks=yes ;;
    esac
    client_home=$HOME/.codex
    case ${CLAUDE_PLUGIN_DATA:-} in
        */plugins/data/*) client_home=${CLAUDE_PLUGIN_DATA%/plugins/data/*} ;;
    esac
    project=${CLAUDE_PROJECT_DIR:-$PWD}
    if grep -Eqs "undrift(\.exe)?['\"]? hook [A-Z][A-Za-z]+ --client=" "$client_home/hooks.json" "$project/.codex/hooks.json"; then
        tell "its hooks are installed twice. Those of the plugin rest. To use them: undrift install codex --undo"
    fi
fi

if ! remembered; then
    look
    printf '%s\n' "$found" >"$kept" 2>/dev/null
    if [ "$found" != none ]; then rm -f "$why"; fi
fi
if [ "$mode" != hook ]; then
    case $found in
        none)
            if command -v undrift >/dev/null 2>&1; then exec undrift "$@"; fi # it says what it lacks
            echo "undrift: $missing" >&2
            exit 1
            ;;
        pipx) exec pipx run --spec "$wanted" undrift "$@" ;;
        *) exec "$found" "$@" ;;
    esac
fi
cd "$home" 2>/dev/null || exit 0 # no file of a project counts
set -- "$@" "--client-home=$client_home"
case $found in
    none) tell "$missing" ;;
    pipx) pipx run --spec "$wanted" undrift "$@" ;;
    *) "$found" "$@" ;;
esac || rm -f "$kept"
exit 0
