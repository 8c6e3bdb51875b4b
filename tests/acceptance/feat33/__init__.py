"""The document's QA scenarios and edge cases, by their ids, over HTTP and with real workers."""
