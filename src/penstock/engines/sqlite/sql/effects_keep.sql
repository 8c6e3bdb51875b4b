update penstock_effects set expires_at = ? where task = ? and key = ? and name = ?
