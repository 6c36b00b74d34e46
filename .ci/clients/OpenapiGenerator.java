// Uses the Java client that openapi-generator made of openapi.yaml. A null needs a profile of another mapper, which this client has not.
import client.ApiClient;
import client.ApiException;
import client.api.CustomersApi;
import client.api.KeysApi;
import client.api.SignalsApi;
import client.model.CustomerData;
import client.model.CustomerUpdate;
import client.model.Event;
import client.model.EventData;
import client.model.Problem;
import client.model.Signal;
import client.model.SignalBatch;
import client.model.WorkflowStep;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;

public final class OpenapiGenerator {
    private static final String NAME = System.getenv("NAME");
    private static final UUID FLOW = UUID.fromString("3fa85f64-5717-4562-b3fc-2c963f66afa6");
    private static final UUID REQUEST = UUID.fromString(System.getenv("REQUEST_IDENTIFIER"));

    private interface Call {
        Object make() throws ApiException;
    }

    private static void expect(String what, Object wanted, Object got) {
        if (!Objects.equals(wanted, got)) {
            System.err.println("error: " + what + ": wanted " + wanted + ", got " + got);
            System.exit(1);
        }
    }

    private static ApiClient clientOf(String address, String key) {
        ApiClient client = new ApiClient();
        client.updateBaseUri(address);
        return client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + key));
    }

    private static String codeOf(Call call) throws Exception {
        try {
            call.make();
            return "no error";
        } catch (ApiException error) {
            return ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), Problem.class).getCode();
        }
    }

    private static CustomerUpdate update() {
        CustomerData profile = new CustomerData().firstName("Ada");
        profile.putAdditionalProperty("loyalty", Map.of("tier", "gold", "points", List.of(1, 2.5)));
        return new CustomerUpdate().customerId("c-" + NAME).customerData(profile);
    }

    private static SignalBatch batch() {
        EventData data = new EventData().price(49.9).brand("Acme");
        data.putAdditionalProperty("quantity", 12345678901L);
        data.putAdditionalProperty("gift", true);
        data.putAdditionalProperty("coupon", Map.of("code", "SPRING", "uses", Arrays.asList(1, 2.5, null, Map.of("a", "b"))));
        Event event = new Event().customerId("c-" + NAME).eventType("purchase").data(data);
        event.putAdditionalProperty("sessionId", "s-9");
        WorkflowStep step = new WorkflowStep().emitterId("e-" + NAME).stepNodeId("start").eventflowIdentifier(FLOW);
        step.setData(Map.of("channel", "mail"));
        return new SignalBatch().requestIdentifier(REQUEST).signals(List.of(new Signal(event), new Signal(step), wrong()));
    }

    private static Signal wrong() {
        return new Signal(new Event().customerId("undefined").eventType("purchase"));
    }

    public static void main(String[] arguments) throws Exception {
        String address = System.getenv("BASE_URL");
        ApiClient client = clientOf(address, System.getenv("API_KEY"));
        expect("ping", "pong", new KeysApi(client).ping().getResponse().toString());

        var stored = new CustomersApi(client).patchCustomer(update());
        expect("its warning", "/customerData/loyalty", stored.getWarnings().get(0).getPointer());

        SignalsApi signals = new SignalsApi(client);
        for (boolean replayed : new boolean[] {false, true}) {
            var answer = signals.postSignals(batch(), null);
            var counts = List.of(answer.getReceived(), answer.getAccepted(), answer.getRejected(), answer.getReplayed());
            expect("its counts", List.of(3, 2, 1, replayed), counts);
            expect("its error", "placeholder-identifier", answer.getFieldErrors().get(0).getCode());
        }

        SignalBatch wrong = new SignalBatch().signals(List.of(wrong()));
        expect("a batch without a valid signal", "validation-failed", codeOf(() -> signals.postSignals(wrong, null)));
        expect("a wrong key", "unauthorized", codeOf(() -> new KeysApi(clientOf(address, "wrong")).ping()));

        ApiClient later = clientOf(System.getenv("SCRIPTED_URL"), System.getenv("API_KEY"));
        var answer = new SignalsApi(later).postSignals(batch(), null);
        var codes = List.of(answer.getFieldErrors().get(0).getCode(), answer.getWarnings().get(0).getCode());
        expect("deferred", 2, answer.getDeferred());
        expect("codes that are not known", List.of("later-error", "later-warning"), codes);
        expect("a result that is not known", "later-result", new CustomersApi(later).postCustomer(update()).getResult());
    }
}
