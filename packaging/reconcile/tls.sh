#!/bin/sh
# Makes an authority, a certificate for gateways and one for laptops, all new:
#
#	packaging/reconcile/tls.sh FOLDER GATEWAY-NAME [NAME...]
#
# ca.key stays with you. ca.pem, gateway.pem and gateway.key go to /etc/hookspan of each gateway; ca.pem, laptop.pem and
# laptop.key, which every user must be able to read, to /etc/hookspan of each laptop. A certificate ends after a year:
# make the next before, with the same authority (the folder's ca.pem and ca.key are kept).
set -eu
folder=$1
shift
mkdir -p "$folder"
cd "$folder"
umask 077
names=
for name in "$@"; do
	names=$names${names:+,}DNS:$name
done
if [ ! -e ca.key ]; then
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 3650 -subj '/CN=hookspan authority' \
		-addext basicConstraints=critical,CA:TRUE -addext keyUsage=critical,keyCertSign,cRLSign -keyout ca.key -out ca.pem
fi
# certificate FILE NAME USE EXTENSION
certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$2" -keyout "$1.key" -out "$1.csr"
	printf 'basicConstraints=critical,CA:FALSE\nkeyUsage=critical,digitalSignature\nextendedKeyUsage=%s\n%s\n' "$3" "$4" >"$1.ext"
	openssl x509 -req -in "$1.csr" -CA ca.pem -CAkey ca.key -CAcreateserial -days 365 -extfile "$1.ext" -out "$1.pem"
	rm "$1.csr" "$1.ext"
}
certificate gateway "$1" serverAuth,clientAuth "subjectAltName=$names"
certificate laptop laptop clientAuth ''
chmod 644 ca.pem gateway.pem laptop.pem
