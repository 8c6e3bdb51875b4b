select {_note_columns} from {schema}.notes n where kind = %(kind)s and key = %(key)s and {_live_note}
