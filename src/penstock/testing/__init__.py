"""Testing jobs without servers: the real engine in memory, real serialisation, a clock you move.

    with sandbox(app) as box:
        send_receipt.enqueue(order_id=7, to="ana@example.com")
        box.assert_enqueued(send_receipt, order_id=7)
        box.drain()

In async tests use `async with sandbox(app) as box:` and `await box.adrain()`. With pytest, define a fixture
`penstock_app` that returns your app, and take the fixture `penstock_box`.
"""

from penstock.model.clock import FakeClock
from penstock.testing.box import Box, sandbox

__all__ = ["Box", "FakeClock", "sandbox"]
