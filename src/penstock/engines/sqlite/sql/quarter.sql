select measures from penstock_quarters where at = ? and queue = ?
