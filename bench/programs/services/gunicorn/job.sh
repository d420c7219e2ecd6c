# Two workers answer; then a signal starts the server anew, whose workers answer too. $1: words before the command.
. ./ask.sh
$1 gunicorn --bind unix:job.sock --workers 2 --pid gunicorn.pid app:app &
trap 'left gunicorn.pid' EXIT
soon page; ask 15
old=$(cat gunicorn.pid); kill -USR2 "$old"; soon test -e gunicorn.pid.2
kill -TERM "$old"; soon gone "$old"; soon page; ask 15; cat answer
soon test -s gunicorn.pid; new=$(cat gunicorn.pid); kill -TERM "$new"; soon gone "$new"; wait
