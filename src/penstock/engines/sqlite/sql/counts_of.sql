select state, n from penstock_counts where queue = ?
