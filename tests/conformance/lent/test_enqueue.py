from conformance.test_enqueue import *  # noqa: F403
