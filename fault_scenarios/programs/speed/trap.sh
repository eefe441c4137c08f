#!/bin/sh
# Replaces a file by way of a temporary one, which a trap removes.
set -e
temporary=$(mktemp product.XXXXXX)
trap 'rm -f "$temporary"' EXIT
trap 'exit 143' TERM INT HUP
seq 1 100 | sort -r > "$temporary"
mv "$temporary" product
