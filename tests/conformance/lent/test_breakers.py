from conformance.test_breakers import *  # noqa: F403
