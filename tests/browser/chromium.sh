#!/bin/sh
# Debian's Chromium, or that of $CHROMIUM; it ends with the process that started it, however that ends.
exec setpriv --pdeathsig KILL "${CHROMIUM:-/usr/bin/chromium}" "$@"
