#!/bin/sh
# A stand-in for Claude Code: greets, and does with each prompt what its words say. It needs
# no other program for that. It leaves in its working folder, for the test to look at:
# `group` (the group that it leads), `words`, `environment`.

echo $$ > group
printf '%s\n' "$@" > words
env > environment

session=none
for word; do
  case $word in --session-id=*) session=${word#*=} ;; esac
done

# The value of a member of the line that was read last.
member() {
  value=${line#*"\"$1\":\""}
  value=${value%%\"*}
}

say() { printf '%s\n' "$1"; }

granted() {
  member request_id
  say "{\"type\":\"control_response\",\"response\":{\"subtype\":\"success\",\"request_id\":\"$value\",\"response\":$1}}"
}

frame() { say "{\"type\":\"$1\",\"session_id\":\"$session\",\"uuid\":\"00000000-0000-4000-8000-000000000001\",$2}"; }

lives() { frame command_lifecycle "\"command_uuid\":\"$prompt\",\"state\":\"$1\""; }

streams() { frame stream_event "\"parent_tool_use_id\":null,\"event\":$1"; }

writes() { streams "{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"$1\"}}"; }

begins() {
  frame system '"subtype":"session_state_changed","state":"running"'
  lives queued
  lives started
  frame system '"subtype":"init","capabilities":["interrupt_receipt_v1","msg_lifecycle_v1","request_marker_lists_v1"]'
  frame system "\"subtype\":\"status\",\"status\":\"requesting\",\"user_message_uuids\":[\"$prompt\"]"
  streams '{"type":"message_start","message":{"id":"msg_1","role":"assistant","content":[]}}'
  streams '{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}'
  writes "$1"
}

ends() {
  frame assistant "\"parent_tool_use_id\":null,\"message\":{\"id\":\"msg_1\",\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"$1\"}]}"
  streams '{"type":"content_block_stop","index":0}'
  streams '{"type":"message_stop"}'
  frame result "\"subtype\":\"success\",\"is_error\":false,\"stop_reason\":\"end_turn\",\"user_message_uuid\":\"$prompt\",\"user_message_uuids\":[\"$prompt\"]"
  lives completed
  frame system '"subtype":"session_state_changed","state":"idle"'
}

# What a prompt asks for.
does() {
  case $1 in
  *hello*) begins "Hello." && ends "Hello." ;;
  *slow*) begins "Working" ;;
  *die*) begins "Working" && exit 3 ;;
  *leave*)
    sleep 1000 &
    begins "Working" && exit 4
    ;;
  *tool*)
    sleep 1000 &
    begins "Working"
    ;;
  *deaf*)
    trap '' TERM INT HUP
    begins "Working"
    while :; do sleep 1; done
    ;;
  *garbage*)
    say 'Warning: this is no JSON.'
    say '{"type":"from the future","session_id":7}'
    say '[]'
    printf '\377\376 \000\n'
    say '{"type":"assistant","message":"not an object"}'
    begins "Hello." && ends "Hello."
    ;;
  *stderr*)
    head -c 5000000 /dev/zero >&2
    echo 'the last words' >&2
    begins "Working" && exit 5
    ;;
  *flood*)
    begins "" && n=0
    while [ $n -lt 24 ]; do
      # A MiB a time, in lines of 8 KiB.
      k=0
      while [ $k -lt 128 ]; do writes "$block" && k=$((k + 1)); done
      n=$((n + 1)) && echo $n > flood
    done
    ends ""
    ;;
  *ask*)
    begins "Working"
    say "{\"type\":\"control_request\",\"request_id\":\"ask-1\",\"request\":{\"subtype\":\"can_use_tool\",\"tool_name\":\"Bash\",\"tool_use_id\":\"toolu_1\",\"input\":{\"command\":\"ls\"}}}"
    case $1 in *ask*die*) exit 6 ;; esac
    ;;
  esac
}

block=xxxxxxxx
while [ ${#block} -lt 8192 ]; do block=$block$block; done

if [ -e silent ]; then exec sleep 1000; fi

while IFS= read -r line; do
  case $line in
  *'"subtype":"initialize"'*) granted '{"commands":[],"agents":[],"models":[],"account":{}}' ;;
  *'"subtype":"interrupt"'*) granted '{"still_queued":[]}' ;;
  *'"type":"control_request"'*) granted '{}' ;;
  *'"type":"control_response"'*) ends "Working" ;;
  *'"type":"user"'*)
    prompt=${line##*'"uuid":"'}
    prompt=${prompt%%\"*}
    text=${line##*'"text":"'}
    does "${text%%\"*}"
    ;;
  esac
done
