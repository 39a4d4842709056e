#!/bin/sh
# The standard library for wasm32-unknown-unknown, which must fit the compiler exactly.
#
#   scripts/wasm-target.sh check    is it there?
#   scripts/wasm-target.sh get      with rustup; where rustup cannot reach its server, compiled from Debian's source
#                                   package of the same compiler version, from the archive that apt uses already. No root.
set -eu
target=wasm32-unknown-unknown
libs=$(rustc --print sysroot)/lib/rustlib/$target/lib

is_there() { ls "$libs"/libstd-*.rlib >/dev/null 2>&1; }

from_debian() {
    version=$(rustc --version | cut -d' ' -f2)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    mkdir -p "$work/lists/partial" "$work/cache/archives/partial" "$work/empty/src"

    # Lists and cache of our own: neither root nor a change to the machine's apt.
    archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' 'Label: Debian' | head -n 1)
    [ -n "$archive" ] || { echo "apt knows no Debian archive to take rust-src from."; return 1; }
    for suite in trixie-backports sid; do
        echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $archive $suite main"
    done >"$work/sources.list"
    private="-q -o Dir::Etc::SourceList=$work/sources.list -o Dir::Etc::SourceParts=/dev/null
        -o Dir::State::lists=$work/lists -o Dir::Cache=$work/cache"
    apt-get $private update
    package=$(apt-cache $private madison rust-src | awk -v v="$version+" 'index($3, v) == 1 { print $3; exit }')
    [ -n "$package" ] || { echo "Debian has no rust-src $version."; return 1; }
    (cd "$work" && apt-get $private download "rust-src=$package" && dpkg-deb -x rust-src_*.deb source)

    # Building an empty library builds std on the way.
    cat >"$work/empty/Cargo.toml" <<-END
	[package]
	name = "empty"
	version = "0.1.0"
	edition = "2024"
	[lib]
	crate-type = ["cdylib"]
	[profile.release]
	opt-level = "s"
	END
    : >"$work/empty/src/lib.rs"
    (
        cd "$work/empty"
        # -Zbuild-std is for nightly compilers only, and looks for the sources in the sysroot: both are overridden.
        env -u CARGO_TARGET_DIR RUSTFLAGS= RUSTC_BOOTSTRAP=1 \
            __CARGO_TESTS_ONLY_SRC_ROOT="$(echo "$work"/source/usr/src/rustc-*/library)" \
            cargo build --release --target "$target" -Zbuild-std=std,panic_abort
    )
    mkdir -p "$libs"
    cp "$work/empty/target/$target/release/deps/"*.rlib "$libs"
}

case ${1:-} in
check) is_there ;;
get)
    is_there && exit 0
    if command -v rustup >/dev/null && rustup target add "$target" && is_there; then exit 0; fi
    echo "rustup could not add $target, compiling it from Debian's sources."
    command -v apt-get >/dev/null || { echo "There is no apt-get here either."; exit 1; }
    from_debian && is_there
    ;;
*)
    echo "usage: scripts/wasm-target.sh check | get" >&2
    exit 2
    ;;
esac
