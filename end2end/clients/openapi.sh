#!/bin/sh
# Schemathesis over the OpenAPI document, against a demo that runs.
#   end2end/clients/openapi.sh --host http://localhost:8080 [examples for each operation]
# As the provider and as an organization's administrator, each of which is a step. SCHEMATHESIS names the program; without it a venv is made.
set -eu
[ "${1:-}" != --host ] || shift
base=${1:?the address of a demo, such as http://localhost:8080}
examples=${2:-20}
password=${PASSWORD:-ssvirt-demo}

if [ -z "${SCHEMATHESIS:-}" ]; then
    venv=${VENV:-${XDG_CACHE_HOME:-$HOME/.cache}/ssvirt/schemathesis}
    [ -x "$venv/bin/schemathesis" ] || { python3 -m venv "$venv"; "$venv/bin/pip" -q install 'schemathesis>=4,<5'; }
    SCHEMATHESIS=$venv/bin/schemathesis
fi

# what it leaves behind is of no use to anybody
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# The access token of user@org.
token() {
    curl -ksS -o /dev/null -D - -X POST -u "$1:$password" "$base/cloudapi/1.0.0/$2" |
        tr -d '\r' | sed -n 's/^x-vmware-vcloud-access-token: //Ip'
}

# So that things are found as well: an id of each collection, for whatever reads one of it.
settings() {
    # with what it reads in answers it would rename and disable those who are to sign in after it
    for phase in examples coverage fuzzing; do
        printf '[phases.%s]\nextra-data-sources = { responses = false }\n' "$phase"
    done
    for things in orgs users roles rights rightsCategories rightsBundles globalRoles vdcs vdcComputePolicies \
        orgVdcNetworks catalogs vapps vms auditTrail tasks orgVdcStoragePolicies pvdcStoragePolicies; do
        id=$(curl -ksS -H "Authorization: Bearer $1" "$base/cloudapi/1.0.0/$things?pageSize=1" |
            python3 -c 'import json, sys; v = json.load(sys.stdin).get("values") or [{}]; print(v[0].get("id") or v[0].get("eventId") or "")')
        [ -z "$id" ] || printf '[[operations]]\ninclude-name-regex = "^GET /cloudapi/[12]\\\\.0\\\\.0/%s/[{]id[}]"\nparameters = { "path.id" = "%s" }\n' "$things" "$id"
    done
}

run() {
    bearer=$(token "$1" "$2")
    [ -n "$bearer" ] || { echo "openapi.sh: $1 can't sign in at $base" >&2; exit 1; }
    settings "$bearer" >"$work/settings.toml"
    echo "== $1, $examples examples for each operation"
    # one worker: two make Python 3.11 lose count of its own recursion (hypothesis parses in threads). Signing out would end the session that asks; a wrong API token makes those who come after it wait
    "$SCHEMATHESIS" --config-file "$work/settings.toml" run "$base/cloudapi/openapi.json" \
        --url "$base" --header "Authorization: Bearer $bearer" --tls-verify false \
        --exclude-path-regex '/sessions|/oauth/.*/token' \
        --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance \
        --max-examples "$examples" --phases examples,coverage,fuzzing --workers 1 --no-color \
        --request-timeout 30 --continue-on-failure ${SEED:+--seed "$SEED"}
}

failed=0
run administrator@System sessions/provider || failed=$((failed + 1))
run acme-admin@acme sessions || failed=$((failed + 1))
echo "$((2 - failed)) passed, $failed failed"
[ "$failed" -eq 0 ]
