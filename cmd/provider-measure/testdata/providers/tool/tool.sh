#!/bin/sh
# A provider without dependencies: everything here is built into the shell.
case $1 in
--version) echo 'tool 1.2.3' ;;
serve) read -r line && echo "answer to $line" ;;
*) echo "usage: $0 --version|serve" >&2 && exit 2 ;;
esac
