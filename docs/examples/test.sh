set -eu
curl -sSf -X POST "$INSPECTOR_URL/reset" -H "X-Intake-Inspector: 1"
curl -sS "$BASE_URL/api/event-flows/signal" -H "Authorization: Bearer $API_KEY" -H 'Content-Type: application/json' \
  -d '{"signals":[{"customerId":"c1","eventType":"purchase","data":{"price":49.90}}]}'   # your client
counts="$(curl -sSf "$INSPECTOR_URL/counts")"   # after the client has ended
echo "$counts" | jq -e '.distinct == 1 and .rejected + .refused == 0'
