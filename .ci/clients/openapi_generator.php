<?php
// Uses the PHP client that openapi-generator made of openapi.yaml. An unknown field needs an array in place of the model.
declare(strict_types=1);

use OpenAPI\Client\Api\CustomersApi;
use OpenAPI\Client\Api\KeysApi;
use OpenAPI\Client\Api\SignalsApi;
use OpenAPI\Client\ApiException;
use OpenAPI\Client\Configuration;
use OpenAPI\Client\Model\CustomerData;
use OpenAPI\Client\Model\CustomerUpdate;
use OpenAPI\Client\Model\Event;
use OpenAPI\Client\Model\SignalBatch;
use OpenAPI\Client\Model\WorkflowStep;

error_reporting(E_ALL & ~E_DEPRECATED);
require 'GuzzleHttp/autoload.php';
spl_autoload_register(function (string $class): void {
    $path = str_replace(['OpenAPI\\Client\\', '\\'], ['', '/'], $class);
    if (is_file(__DIR__ . "/php/lib/$path.php")) {
        require __DIR__ . "/php/lib/$path.php";
    }
});

function expect(string $what, mixed $wanted, mixed $got): void
{
    if ($wanted !== $got) {
        fwrite(STDERR, "error: $what: wanted " . json_encode($wanted) . ', got ' . json_encode($got) . "\n");
        exit(1);
    }
}

function configuration(string $address, string $key): Configuration
{
    return (new Configuration())->setHost($address)->setAccessToken($key);
}

// The body of the error that a call throws.
function problem(callable $call): mixed
{
    try {
        $call();
    } catch (ApiException $error) {
        return $error->getResponseObject();
    }
    return null;
}

[$name, $key, $address] = [getenv('NAME'), getenv('API_KEY'), getenv('BASE_URL')];
$flow = '3fa85f64-5717-4562-b3fc-2c963f66afa6';
$of = fn (string $address, string $key) => [
    new CustomersApi(null, configuration($address, $key)), new SignalsApi(null, configuration($address, $key)),
    new KeysApi(null, configuration($address, $key)),
];
[$customers, $signals, $keys] = $of($address, $key);

expect('ping', 'pong', $keys->ping()->getResponse());
$typed = new CustomerUpdate(['customer_id' => "c-$name", 'customer_data' => new CustomerData(['first_name' => 'Ada', 'city' => null])]);
expect('the customer', "c-$name", $customers->patchCustomer($typed)->getCustomerId());
// What an identifier may have is checked in bytes.
foreach (['名前', 'имя', "\u{e9}", '🙂'] as $identifier) {
    $typed->setCustomerId($identifier);
}
$update = new CustomerUpdate(['customer_id' => "c-$name", 'customer_data' => ['loyalty' => ['tier' => 'gold', 'points' => [1, 2.5]]]]);
expect('its warning', '/customerData/loyalty', $customers->patchCustomer($update)->getWarnings()[0]->getPointer());

$coupon = ['code' => 'SPRING', 'uses' => [1, 2.5, null, ['a' => 'b']]];
$data = ['price' => 49.9, 'brand' => 'Acme', 'quantity' => 12345678901, 'gift' => true, 'coupon' => $coupon];
$event = ['customerId' => "c-$name", 'eventType' => 'purchase', 'data' => $data, 'sessionId' => 's-9'];
$step = new WorkflowStep(
    ['emitter_id' => "e-$name", 'step_node_id' => 'start', 'eventflow_identifier' => $flow, 'data' => (object) ['channel' => 'mail']]
);
$wrong = new Event(['customer_id' => 'undefined', 'event_type' => 'purchase']);
$batch = new SignalBatch(['request_identifier' => getenv('REQUEST_IDENTIFIER'), 'signals' => [$event, $step, $wrong]]);
foreach ([false, true] as $replayed) {
    $answer = $signals->postSignals($batch);
    expect('its counts', [3, 2, 1, $replayed],
        [$answer->getReceived(), $answer->getAccepted(), $answer->getRejected(), $answer->getReplayed()]);
    expect('its error', 'placeholder-identifier', $answer->getFieldErrors()[0]->getCode());
}

$rejected = problem(fn () => $signals->postSignals(new SignalBatch(['signals' => [$wrong]])));
expect('a batch without a valid signal', 'validation-failed', $rejected?->getCode());
[, , $keysOfAnother] = $of($address, 'wrong');
expect('a wrong key', 'unauthorized', problem(fn () => $keysOfAnother->ping())?->getCode());

[$laterCustomers, $laterSignals] = $of(getenv('SCRIPTED_URL'), $key);
$answer = $laterSignals->postSignals($batch);
expect('a later service', [2, 'later-error', 'later-warning'],
    [$answer->getDeferred(), $answer->getFieldErrors()[0]->getCode(), $answer->getWarnings()[0]->getCode()]);
expect('a result that is not known', 'later-result', $laterCustomers->postCustomer($update)->getResult());
