#!/usr/bin/env bash
# Installs into an empty prefix, moves it, and builds a program against it as a user would: with CMake and with
# pkg-config. ctest sets ORDO_SOURCE_DIR and ORDO_BINARY_DIR.
set -euo pipefail

cmake=${CMAKE_COMMAND:-cmake}
cxx=${CXX:-g++}
consumer=$ORDO_SOURCE_DIR/tests/install/consumer
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "install_test: $*" >&2; exit 1; }

expect() { # what, wanted, command...
  local what=$1 wanted=$2 answer
  answer=$("${@:3}") || fail "$what: exit $?"
  [[ $answer == *"$wanted"* ]] || fail "$what: wanted '$wanted', got '$answer'"
  echo "ok: $what"
}

"$cmake" --install "$ORDO_BINARY_DIR" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; fail "install"; }
mv "$work/first" "$work/prefix"
prefix=$work/prefix
if grep -rlE --include='*.cmake' --include='*.pc' -e "$ORDO_SOURCE_DIR|$work/first|-lsqlite3|boost" "$prefix"; then
  fail "the files above name the source tree, the first prefix or a library that users need not have"
fi
version=$(sed -n 's/^Version: //p' "$(find "$prefix" -name ordo.pc)")

expect "the binary runs from the prefix" "$version" "$prefix/bin/ordo" --version

"$cmake" -S "$consumer" -B "$work/build" -G Ninja -DCMAKE_CXX_COMPILER="$cxx" -DCMAKE_PREFIX_PATH="$prefix" >"$work/cmake.log" &&
  "$cmake" --build "$work/build" >>"$work/cmake.log" || { cat "$work/cmake.log"; fail "building with find_package"; }
expect "find_package(ordo)" "pushed 1" "$work/build/consumer"

PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name ordo.pc)")
export PKG_CONFIG_PATH
read -ra flags <<<"$(pkg-config --cflags --libs ordo)"
libdir=$(pkg-config --variable=libdir ordo)
"$cxx" -std=c++20 "$consumer/main.cpp" -o "$work/consumer" "${flags[@]}" -Wl,-rpath,"$libdir"
expect "pkg-config ordo" "pushed 1" "$work/consumer"
