#!/bin/sh
# Makes Terraform and its provider for VCD from the Go module proxy, once, and prints the paths of both programs.
# Each is built in a copy of its own module, so that all it depends on is what its authors chose. They are kept outside of
# the clone: TF_CLIENT_CACHE, else ssvirt-clients in the user's cache. build.sh --there only says whether they are there.
set -eu
cache=${TF_CLIENT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/ssvirt-clients}
terraform=v1.5.7
provider=v3.14.1

# made PROGRAM MODULE VERSION
made() {
    program=$cache/bin/$1
    if [ ! -x "$program" ]; then
        [ -z "$only_look" ] || exit 1
        command -v go >/dev/null || { echo "Go is needed to build $2: https://go.dev/dl" >&2; exit 1; }
        source=$cache/src/$(echo "$2@$3" | tr / _)
        mkdir -p "$cache/bin" "$cache/src"
        if [ ! -d "$source" ]; then
            kept=$(cd "$cache" && go mod download -json "$2@$3" | sed -n 's/^[[:space:]]*"Dir": "\(.*\)",*$/\1/p')
            [ -d "$kept" ] || { echo "$2@$3 can't be had from GOPROXY" >&2; exit 1; }
            rm -rf "$source.new"
            cp -R "$kept" "$source.new"
            chmod -R u+w "$source.new"
            mv "$source.new" "$source"
        fi
        echo "building $2 $3: minutes, once" >&2
        (cd "$source" && GOWORK=off GOFLAGS=-buildvcs=false CGO_ENABLED=0 nice -n 10 go build -trimpath -o "$program.new" .) >&2
        mv "$program.new" "$program"
    fi
    echo "$program"
}

only_look=
[ "${1:-}" != --there ] || only_look=yes
made "terraform-$terraform" github.com/hashicorp/terraform "$terraform"
made "terraform-provider-vcd_$provider" github.com/vmware/terraform-provider-vcd/v3 "$provider"
