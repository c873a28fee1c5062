#!/usr/bin/env bash
# The changes that are not released yet, a file each in .changelog/ (its README.md says how they are written):
#
#   tools/changelog.sh check      fails when one is not as it must be
#   tools/changelog.sh notes      prints what is in the version of the file VERSION: from .changelog/, or from
#                                 CHANGELOG.md when that has the version already
#   tools/changelog.sh release    moves them to the top of CHANGELOG.md
set -euo pipefail
cd "${CHANGELOG_ROOT:-$(dirname "$0")/..}"
shopt -s nullglob

version=$(cat VERSION)
kinds=(breaking note feature enhancement bug)
declare -A title=([breaking]='BREAKING CHANGES' [note]=NOTES [feature]=FEATURES [enhancement]=ENHANCEMENTS [bug]='BUG FIXES')

check() {
	local file kind status=0
	for file in .changelog/*; do
		[[ $file != .changelog/README.md ]] || continue
		kind=${file%.md} kind=${kind##*.}
		if [[ $file != *.md || -z ${title[$kind]:-} ]]; then
			echo "$file: the name is no name-of-the-change.kind.md with a kind of: ${kinds[*]}" >&2
			status=1
		elif ! head -n 1 "$file" | grep -qE '^([^ *-]|\*\*)'; then
			echo "$file: its first line is no text, or a bullet" >&2
			status=1
		fi
	done
	return "$status"
}

# unreleased prints the fragments, kind by kind.
unreleased() {
	local kind files file first=yes
	for kind in "${kinds[@]}"; do
		files=(.changelog/*."$kind".md)
		((${#files[@]})) || continue
		[[ -n $first ]] || echo
		first=
		printf '%s:\n\n' "${title[$kind]}"
		for file in "${files[@]}"; do
			sed -e '1s/^/* /' -e '2,$s/^./  &/' "$file"
		done
	done
}

# released prints the version's part of CHANGELOG.md without its heading.
released() {
	awk -v heading="## $version " 'index($0, "## ") == 1 { on = index($0, heading) == 1; next } on' CHANGELOG.md | sed '1{/^$/d}'
}

case ${1:-} in
check) check ;;
notes)
	check
	notes=$(released)
	[[ -n $notes ]] || notes=$(unreleased)
	[[ -n $notes ]] || { echo "there is nothing about $version in CHANGELOG.md or .changelog/" >&2; exit 1; }
	printf '%s\n' "$notes"
	;;
release)
	check
	! grep -q "^## $version " CHANGELOG.md || { echo "CHANGELOG.md has $version already: raise it in VERSION" >&2; exit 1; }
	notes=$(unreleased)
	[[ -n $notes ]] || { echo 'there is nothing to release in .changelog/' >&2; exit 1; }
	heading="## $version ($(date -u -d "@${SOURCE_DATE_EPOCH:-$(date +%s)}" '+%B %d, %Y'))"
	NOTES="$heading"$'\n\n'"$notes" awk '
		/^## / && !done { print ENVIRON["NOTES"] "\n"; done = 1 }
		{ print }
		END { if (!done) print "\n" ENVIRON["NOTES"] }' CHANGELOG.md >CHANGELOG.md.new
	mv CHANGELOG.md.new CHANGELOG.md
	for kind in "${kinds[@]}"; do rm -f .changelog/*."$kind".md; done
	;;
*)
	sed -n '2,/^set /{/^# /s/^# \?//p}' "$0" >&2
	exit 2
	;;
esac
