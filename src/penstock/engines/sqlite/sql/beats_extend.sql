update beats set until = ?, memory = coalesce(?, memory) where worker = ? and until > ?
