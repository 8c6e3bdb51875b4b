update beats set until = ? where worker = ? and until > ?
