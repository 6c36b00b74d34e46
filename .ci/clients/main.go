// Uses the Go client that openapi-generator made of openapi.yaml.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	intake "intake.test/client"
)

var name = os.Getenv("NAME")

// The event flow of this program.
const flow = "3fa85f64-5717-4562-b3fc-2c963f66afa6"

func expect(what string, wanted, got any) {
	if fmt.Sprint(wanted) != fmt.Sprint(got) {
		fmt.Fprintf(os.Stderr, "error: %s: wanted %v, got %v\n", what, wanted, got)
		os.Exit(1)
	}
}

func clientOf(address string) *intake.APIClient {
	configuration := intake.NewConfiguration()
	configuration.Servers = intake.ServerConfigurations{{URL: address}}
	return intake.NewAPIClient(configuration)
}

func customerUpdate() intake.CustomerUpdate {
	profile := intake.NewCustomerData()
	profile.SetFirstName("Ada")
	profile.SetCityNil()
	profile.AdditionalProperties = map[string]any{"loyalty": map[string]any{"tier": "gold", "points": []any{1, 2.5}}}
	return *intake.NewCustomerUpdate("c-"+name, *profile)
}

func batch() intake.SignalBatch {
	data := intake.NewEventData()
	data.SetPrice(49.9)
	data.SetBrand("Acme")
	coupon := map[string]any{"code": "SPRING", "uses": []any{1, 2.5, nil, map[string]any{"a": "b"}}}
	data.AdditionalProperties = map[string]any{"quantity": 12345678901, "gift": true, "coupon": coupon}
	event := intake.NewEvent("c-"+name, "purchase")
	event.SetData(*data)
	event.AdditionalProperties = map[string]any{"sessionId": "s-9"}
	step := intake.NewWorkflowStep("e-"+name, "start", flow)
	step.SetData(map[string]any{"channel": "mail"})
	wrong := intake.NewEvent("undefined", "purchase")
	signals := []intake.Signal{intake.EventAsSignal(event), intake.WorkflowStepAsSignal(step), intake.EventAsSignal(wrong)}
	batch := intake.NewSignalBatch(signals)
	batch.SetRequestIdentifier(os.Getenv("REQUEST_IDENTIFIER"))
	return *batch
}

// The model of an error response.
func modelOf(err error) any {
	var failed *intake.GenericOpenAPIError
	if !errors.As(err, &failed) {
		return err
	}
	return failed.Model()
}

func main() {
	client := clientOf(os.Getenv("BASE_URL"))
	authorized := context.WithValue(context.Background(), intake.ContextAccessToken, os.Getenv("API_KEY"))

	pong, _, err := client.KeysAPI.Ping(authorized).Execute()
	expect("ping", nil, err)
	expect("pong", "pong", pong.GetResponse())

	stored, _, err := client.CustomersAPI.PatchCustomer(authorized).CustomerUpdate(customerUpdate()).Execute()
	expect("the customer", nil, err)
	expect("its warning", "/customerData/loyalty", stored.Warnings[0].Pointer)

	for _, replayed := range []bool{false, true} {
		answer, _, err := client.SignalsAPI.PostSignals(authorized).SignalBatch(batch()).Execute()
		expect("the batch", nil, err)
		expect("its counts", []any{3, 2, 1, replayed}, []any{answer.Received, answer.Accepted, answer.Rejected, answer.Replayed})
		expect("its error", "placeholder-identifier", answer.FieldErrors[0].Code)
	}

	wrong := intake.NewSignalBatch([]intake.Signal{intake.EventAsSignal(intake.NewEvent("undefined", "t"))})
	_, _, err = client.SignalsAPI.PostSignals(authorized).SignalBatch(*wrong).Execute()
	rejected, isRejected := modelOf(err).(intake.SignalsInvalid)
	expect("a batch without a valid signal", true, isRejected && rejected.BatchRejected != nil)
	expect("its code", "validation-failed", rejected.BatchRejected.Code)

	unauthorized := context.WithValue(context.Background(), intake.ContextAccessToken, "wrong")
	_, _, err = client.KeysAPI.Ping(unauthorized).Execute()
	problem, isProblem := modelOf(err).(intake.Problem)
	expect("a wrong key", true, isProblem)
	expect("its code", "unauthorized", problem.Code)

	later := clientOf(os.Getenv("SCRIPTED_URL"))
	answer, _, err := later.SignalsAPI.PostSignals(authorized).SignalBatch(batch()).Execute()
	expect("a later service", nil, err)
	expect("deferred", 2, answer.GetDeferred())
	expect("codes that are not known", "later-error later-warning", answer.FieldErrors[0].Code+" "+answer.Warnings[0].Code)
	changed, _, err := later.CustomersAPI.PostCustomer(authorized).CustomerUpdate(customerUpdate()).Execute()
	expect("a customer of a later service", nil, err)
	expect("a result that is not known", "later-result", changed.Result)
}
