#!/bin/sh
# roundtrip.sh FILE...  -- printing then parsing gives the same text, for the input of each
# golden file and for its expected output where that is a module. Files under an err/ folder
# are left out: they are there because they do not parse.
pass=0 fail=0
PATH="${B:-build}:$PATH"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

same() # WHAT: $tmp/one, once printed and parsed, prints as itself
{
	if ! timeout 20 hop show - <"$tmp/one" >"$tmp/two" 2>&1; then
		echo "FAIL $1: what was printed does not parse"
		cat "$tmp/two"
	elif ! cmp -s "$tmp/one" "$tmp/two"; then
		echo "FAIL $1"
		diff -u "$tmp/one" "$tmp/two"
	else
		pass=$((pass + 1))
		return
	fi
	fail=$((fail + 1))
}

for t; do
	test -f "$t" || continue
	case $t in */err/*) continue ;; esac
	sed '/^# ---$/,$d' "$t" >"$tmp/in"
	if timeout 20 hop show - <"$tmp/in" >"$tmp/one" 2>&1; then
		same "$t (input)"
	else
		echo "FAIL $t: the input does not parse"
		cat "$tmp/one"
		fail=$((fail + 1))
	fi
	sed '1,/^# ---$/d' "$t" >"$tmp/one"
	case $(head -n 1 "$tmp/one") in 'hop 1') same "$t (output)" ;; esac
done
echo "$pass passed, $fail failed"
test $fail = 0
