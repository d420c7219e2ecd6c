# A server whose pages are programs. $1: a directive besides those of httpd.conf.
. ./ask.sh
page() { curl -sf "http://127.0.0.1:$port/data.txt"; }
export APACHE_FOLDER=$(mktemp -d) # the server's user may not read this folder
trap 'left "$APACHE_FOLDER/apache.pid"; wait; rm -rf "$APACHE_FOLDER"' EXIT
chmod 755 "$APACHE_FOLDER"
install -m 755 page.pl "$APACHE_FOLDER"
cp httpd.conf "$APACHE_FOLDER"
port=$(python3 -c 'import socket; one = socket.socket(); one.bind(("127.0.0.1", 0)); print(one.getsockname()[1])')
apache2 -d "$APACHE_FOLDER" -f httpd.conf -D FOREGROUND -C "Listen 127.0.0.1:$port" -c "$1" &
soon page; ask 10; cat answer
