from conformance.test_debounce import *  # noqa: F403
