#!/bin/sh
# golden.sh [-b] FILE...  -- pipe what stands above "# ---" in each file into its own
# "# run:" command and compare all it writes with what stands below. -b (bless) writes
# that text anew instead. There is no pattern language on purpose: print all, compare all.
bless=
test "$1" = -b && { bless=1; shift; }
pass=0 fail=0
PATH="${B:-build}:$PATH"
tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT
for t; do
	test -f "$t" || continue           # a pattern that matched nothing
	cmd=$(sed -n '/^# ---$/q; s/^# run: *//p' "$t" | head -n 1)
	if test -z "$cmd" || ! grep -q '^# ---$' "$t"; then
		echo "FAIL $t: needs a '# run:' line and a '# ---' line"
		fail=$((fail + 1))
		continue
	fi
	sed '/^# ---$/,$d' "$t" >"$tmp/in"
	sed '1,/^# ---$/d' "$t" >"$tmp/want"
	timeout 20 sh -c "$cmd" <"$tmp/in" >"$tmp/got" 2>&1
	if cmp -s "$tmp/want" "$tmp/got"; then
		pass=$((pass + 1))
	elif test $bless; then
		{ sed '/^# ---$/q' "$t"; cat "$tmp/got"; } >"$tmp/new" && cat "$tmp/new" >"$t"
		echo "blessed $t"
	else
		fail=$((fail + 1))
		echo "FAIL $t: $cmd"
		diff -u "$tmp/want" "$tmp/got"
	fi
done
echo "$pass passed, $fail failed"
test $fail = 0
