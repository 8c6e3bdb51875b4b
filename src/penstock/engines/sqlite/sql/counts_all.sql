select queue, state, n from penstock_counts
