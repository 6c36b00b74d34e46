# Uses the Ruby client that openapi-generator made of openapi.yaml. An unknown field, and a null in an array, needs a hash in place of
# the models: they refuse the one, and leave out the other.
$LOAD_PATH.unshift(File.join(__dir__, "ruby/lib"))
require "openapi_client"
require "uri"

NAME = ENV.fetch("NAME")
FLOW = "3fa85f64-5717-4562-b3fc-2c963f66afa6"

def expect(what, wanted, got)
  abort "error: #{what}: wanted #{wanted.inspect}, got #{got.inspect}" unless wanted == got
end

def client_of(address, key = ENV.fetch("API_KEY"))
  configuration = OpenapiClient::Configuration.new do |config|
    uri = URI(address)
    config.scheme, config.host, config.base_path = uri.scheme, "#{uri.host}:#{uri.port}", uri.path
    # Otherwise the address is the first one of openapi.yaml.
    config.server_index = nil
    config.access_token = key
  end
  OpenapiClient::ApiClient.new(configuration)
end

# The code of the error that a call raises.
def code_of
  yield
rescue OpenapiClient::ApiError => error
  JSON.parse(error.response_body).fetch("code")
end

client = client_of(ENV.fetch("BASE_URL"))
expect("ping", "pong", OpenapiClient::KeysApi.new(client).ping.response)

customers = OpenapiClient::CustomersApi.new(client)
profile = OpenapiClient::CustomerData.new(first_name: "Ada", city: nil)
customers.patch_customer(OpenapiClient::CustomerUpdate.new(customer_id: "c-#{NAME}", customer_data: profile))
update = { customerId: "c-#{NAME}", customerData: { loyalty: { tier: "gold", points: [1, 2.5] } } }
stored = customers.patch_customer(update)
expect("its warning", "/customerData/loyalty", stored.warnings[0].pointer)

signals = OpenapiClient::SignalsApi.new(client)
coupon = { code: "SPRING", uses: [1, 2.5, nil, { a: "b" }] }
data = { price: 49.9, brand: "Acme", quantity: 12_345_678_901, gift: true, coupon: coupon }
event = { customerId: "c-#{NAME}", eventType: "purchase", data: data, sessionId: "s-9" }
step = OpenapiClient::WorkflowStep.new(emitter_id: "e-#{NAME}", step_node_id: "start", eventflow_identifier: FLOW, data: { channel: "mail" })
wrong = OpenapiClient::Event.new(customer_id: "undefined", event_type: "purchase")
batch = { requestIdentifier: ENV.fetch("REQUEST_IDENTIFIER"), signals: [event, step.to_hash, wrong.to_hash] }
[false, true].each do |replayed|
  answer = signals.post_signals(batch)
  expect("its counts", [3, 2, 1, replayed], [answer.received, answer.accepted, answer.rejected, answer.replayed])
  expect("its error", "placeholder-identifier", answer.field_errors[0].code)
end

rejected = code_of { signals.post_signals(OpenapiClient::SignalBatch.new(signals: [wrong])) }
expect("a batch without a valid signal", "validation-failed", rejected)
another = OpenapiClient::KeysApi.new(client_of(ENV.fetch("BASE_URL"), "wrong"))
expect("a wrong key", "unauthorized", code_of { another.ping })

later = client_of(ENV.fetch("SCRIPTED_URL"))
answer = OpenapiClient::SignalsApi.new(later).post_signals(batch)
codes = [answer.field_errors[0].code, answer.warnings[0].code]
expect("a later service", [2, "later-error", "later-warning"], [answer.deferred, *codes])
expect("a result that is not known", "later-result", OpenapiClient::CustomersApi.new(later).post_customer(update).result)
