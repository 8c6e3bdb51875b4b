delete from penstock_effects where task = ? and key = ? and name = ?
