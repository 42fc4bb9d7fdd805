# Helpers of the scripts in this folder; sourced, not run.

# say TEXT: a step of the script, on stderr.
say() {
    printf '==> %s\n' "$*" >&2
}

# need_packages KIND...: installs the packages of script/packages.txt that are missing.
need_packages() {
    missing=
    for kind in "$@"; do
        for package in $(sed -n "s/^$kind  *//p" "$root/script/packages.txt"); do
            dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' ||
                missing="$missing $package"
        done
    done
    [ -n "$missing" ] || return 0
    if [ "$(id -u)" -ne 0 ]; then
        printf 'error: packages are missing. Install them as root, then run this again:\n' >&2
        printf '  apt-get install --no-install-recommends%s\n' "$missing" >&2
        exit 9
    fi
    say "installing$missing"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq
    # shellcheck disable=SC2086 # a list of package names
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
}

# use_ccache: what was compiled once on this machine, in whatever folder, is not compiled again.
# Meson finds ccache.
use_ccache() {
    export CCACHE_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/benchd/ccache" CCACHE_MAXSIZE=1G
    # Paths below the tree count as relative, and the folder in debug information does not matter.
    export CCACHE_BASEDIR="$root" CCACHE_NOHASHDIR=1
    # What is compiled for the first time is not preprocessed before.
    export CCACHE_DEPEND=1
}

# use_real_python: where python3 is a wrapper, as pyenv's is, each start of it takes longer than
# most programs that tests write in Python. What is started from here finds the interpreter itself.
use_real_python() {
    PATH=$(python3 -c 'import os, sys; print(os.path.dirname(sys.executable))'):$PATH
    export PATH
}

# Which suites a build is for: build_in builds what their tests run, and no more. If it is empty,
# it builds all; if it is `none`, it only configures; if it is `objects`, it links nothing.
for_suites=

# build_in DIR [meson option...]: configures (once) and builds; quiet unless it fails.
build_in() {
    dir=$1
    shift
    if [ ! -f "$dir/build.ninja" ]; then
        say "configuring $(basename "$dir")"
        meson setup "$dir" "$root" "$@" >"$dir.setup.log" 2>&1 ||
            { cat "$dir.setup.log" >&2; exit 1; }
        rm -f "$dir.setup.log"
    fi
    [ "$for_suites" != none ] || return 0
    say "building $(basename "$dir")"
    ninja -C "$dir" --quiet build.ninja >&2 # with the targets as they are now
    # shellcheck disable=SC2086 # lists of suites and targets
    case $for_suites in
    '') targets= ;;
    objects) targets=$(ninja -C "$dir" -t targets rule c_COMPILER) ;;
    *) targets=$(python3 "$root/script/suite_targets.py" "$dir" $for_suites) ;;
    esac
    # shellcheck disable=SC2086
    ninja -C "$dir" --quiet $targets >&2
}

# build_kind KIND [clang | arm64]: builds in the folder of that kind, and leaves its path in
# $build_dir. Each kind has its options here and nowhere else.
build_kind() {
    compiler=
    suffix=
    linker=
    if [ "${2-}" = clang ]; then
        suffix=-clang
        compiler=clang
        ! command -v ccache >/dev/null || compiler="ccache clang" # Meson adds it to its own choice only
    elif [ "${2-}" = arm64 ]; then
        suffix=-arm64
        sysroot=$("$root/script/sysroot" arm64) || exit 9
    fi
    case $1 in
    debug) folder=build-debug options='--werror --buildtype=debug' ;;
    release) folder=build-release options=--buildtype=release ;;
    test) folder=build-test options=--werror ;;
    # Without -Werror: under the sanitizers gcc warns of paths that cannot be. Their reports name
    # lines; what a debugger needs besides takes a quarter of the time to compile.
    sanitizer) folder=build-asan linker=gold options='-Db_sanitize=address,undefined -Db_lundef=false -Ddebug=false -Dc_args=-g1' ;;
    thread) folder=build-tsan linker=gold options='-Db_sanitize=thread -Db_lundef=false -Ddebug=false -Dc_args=-g1' ;;
    # For the warnings alone: not optimised, not linked, never run.
    warnings) folder=build-warnings options='--werror -Doptimization=0 -Ddebug=false' ;;
    esac
    build_dir=$root/$folder$suffix
    # shellcheck disable=SC2086 # a list of options
    (
        if [ "$suffix" = -arm64 ]; then
            PATH=/usr/lib/ccache:$PATH # here ccache has the name of each compiler
            options="$options --cross-file=$sysroot/cross.ini"
            # What was built with other packages is not mixed with what is built with these.
            [ "$(cat "$build_dir/sysroot" 2>/dev/null)" = "$sysroot" ] || rm -rf "$build_dir"
            mkdir -p "$build_dir"
            echo "$sysroot" >"$build_dir/sysroot"
        fi
        [ -z "$compiler" ] || export CC="$compiler"
        # What is built for tests alone is linked in two thirds of the time.
        [ -z "$linker" ] || ! command -v "ld.$linker" >/dev/null || export CC_LD="$linker"
        [ "$1" != warnings ] || for_suites=objects
        build_in "$build_dir" $options
    )
}

# has_git: whether the tree is a git work tree of its own. A tarball that is unpacked inside another
# project's is not that project.
has_git() {
    [ "$(git -C "$root" rev-parse --show-toplevel 2>/dev/null)" = "$(cd "$root" && pwd -P)" ]
}

# copy_source DIR: the files of the work tree that git knows or would add, in a folder of their own.
# Of a tree without git, as of a tarball, all but the build trees.
copy_source() {
    mkdir -p "$1"
    if has_git; then
        git -C "$root" ls-files -z --cached --others --exclude-standard
    else
        (cd "$root" && find . -path './build*' -prune -o -type f -print0 -o -type l -print0)
    fi | (cd "$root" && xargs -0 sh -c 'for file; do [ ! -e "$file" ] || printf "%s\0" "$file"; done' sh) |
        tar -C "$root" -c --null --no-recursion -T - | tar -C "$1" -x --no-same-owner
}

# source_date: the date of the commit, or of debian/changelog where there is no
# git, in seconds since 1970.
source_date() {
    if has_git; then
        git -C "$root" log -1 --format=%ct
    else
        dpkg-parsechangelog -l "$root/debian/changelog" -S Timestamp
    fi
}
