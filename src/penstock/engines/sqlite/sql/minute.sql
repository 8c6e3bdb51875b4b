select measures from penstock_minutes where at = ? and queue = ? and task = ?
