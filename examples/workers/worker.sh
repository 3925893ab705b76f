#!/bin/sh
# A command worker: one line of JSON in, one out (docs/command-workers.md).
while IFS= read -r line; do
  case $line in
    *'"payloads":[""]'*) printf '{"ok":false,"error":"no payload"}\n' ;;
    *)
      printf '%s\n' "$line" >&2 # goes to the node's log
      printf '{"ok":true}\n'
      ;;
  esac
done
