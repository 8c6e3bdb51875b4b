from conformance.test_flows import *  # noqa: F403
