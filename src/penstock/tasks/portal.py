"""An event loop in a thread of its own, for programs that have none."""

from __future__ import annotations

import asyncio
import threading


class Portal:
    """Runs from now until stopped. Daemonic: it never keeps a program from ending."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="penstock-portal", daemon=True)
        running = threading.Event()
        self.loop.call_soon(running.set)
        self._thread.start()
        running.wait()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
            self.loop.run_until_complete(self.loop.shutdown_default_executor())
        finally:
            self.loop.close()

    def stop(self) -> None:
        """End the loop and wait for its thread."""
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
