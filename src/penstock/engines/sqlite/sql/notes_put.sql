insert or replace into penstock_notes (kind, key, body, version, at, expires_at) values (?, ?, ?, ?, ?, ?)
