#!/bin/sh
# Both package managers run this in an upgrade too: "upgrade" of dpkg, 1 of rpm.
case "$1" in
upgrade | 1) exit 0 ;;
esac
[ ! -d /run/systemd/system ] || systemctl disable --now hookspan-collector.service
