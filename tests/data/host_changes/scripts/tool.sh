. "$(dirname "$0")/inner.sh"
echo tool "$HOST_SETTING"
