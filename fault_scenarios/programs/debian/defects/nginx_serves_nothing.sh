#!/bin/sh
# nginx continues without workers if the first fork fails for a moment: it accepts connections that
# are never answered, and SIGTERM does not end it. nginx 1.22.1-9+deb12u11
# Found by the story nginx.
cd "$(mktemp -d)" && trap 'rm -r "$PWD"' EXIT
echo "daemon off; error_log $PWD/log; pid $PWD/pid; user root; events {}
http { access_log off; client_body_temp_path $PWD/t1; proxy_temp_path $PWD/t2;
fastcgi_temp_path $PWD/t3; uwsgi_temp_path $PWD/t4; scgi_temp_path $PWD/t5;
server { listen unix:$PWD/sock; root $PWD; } }" >conf
strace -qqo /dev/null -e inject=clone,fork,vfork:error=EAGAIN:when=1 \
  nginx -p "$PWD" -c "$PWD/conf" -e "$PWD/log" &
until [ -S sock ] && [ -s pid ]; do sleep 0.1; done
curl -sm 5 --unix-socket sock http://a/ >/dev/null
code=$?
kill "$(cat pid)"
sleep 1
kill -9 "$(cat pid)" 2>>log && code=$code,stays
wait 2>>log
[ $code = 28,stays ] && echo "shown: no answer in 5 s, and no end at SIGTERM" && exit
echo "not shown"
exit 1
