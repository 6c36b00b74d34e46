"""What Intake costs, by the prices and assumptions of docs/operate.md, Cost."""


def dollars(millions, signals, ms):    # these requests, once, without storage and the fixed costs
    gateway = min(millions, 300) * 1.00 + max(millions - 300, 0) * 0.90
    return gateway + millions * (0.20 + ms / 1000 * 0.25 * 13.3334 + (signals + 1) * 0.625 + 746 / 1000 * 0.50)


PER_GB = 0.25 + 0.20                          # a month of a table's storage, and of its point-in-time recovery
print(f"a GB, stored for a month: ${PER_GB:.2f}")
month, stored = 12.36 + dollars(2, 25, 20), 50 * 0.63 * PER_GB
delivery = 50.55 + 0.90 + 4.60                # the bus, the lake without S3, the alarms
lake = 72 * 50 * 0.6 / 9 * 0.023 + 12 * 0.04  # S3 for 0.5, 1.5, ... 11.5 months' events
years = 12 * month + 72 * stored, 12 * (month + delivery) + 11.5 * stored + lake
print("the first year of the table, without and with delivery: ${:,.0f}, ${:,.0f}".format(*years))
for signals, ms in ((1, 15), (25, 20), (500, 150)):
    print(f"a million signals, {signals} in a request: ${dollars(1 / signals, signals, ms):.2f}")
print(f"a million signals, stored for a month: ${0.63 * PER_GB:.2f}")
for rate in (17, 23):
    print(f"{rate} requests a second, a month: ${dollars(rate * 30 * 86_400 / 1e6, 1, 15):.0f}")
month_1, month_12 = (12.36 + dollars(10 / 25, 25, 20) + 10 * 0.63 * PER_GB * stored for stored in (0.5, 11.5))
print(f"10 million signals a month, 25 in a request: ${month_1:.0f} in month 1, ${month_12:.0f} in month 12")
flood = 500 * 30 * 86_400 / 1e6
print(f"a flood, for API Gateway, Lambda and its log lines: ${300 + (flood - 300) * 0.90:,.0f}, ${flood * 0.20:.0f}, ${flood * 746 / 1000 * 0.50:.0f}")
for rate in (1, 20, 200):
    for signals, ms in ((1, 15), (25, 20)):
        millions = rate * 30 * 86_400 / 1e6
        fixed_and_once = 12.36 + dollars(millions, signals, ms)
        bills = (f"{fixed_and_once + millions * signals * 0.63 * PER_GB * stored:,.0f}" for stored in (0.5, 11.5, 1))
        print("|", " | ".join([str(rate), str(signals), *bills]), "|")
