select {_note_columns} from {schema}.notes n
where kind = %(kind)s and key < %(after)s and {_live_note}
order by key desc limit %(limit)s
