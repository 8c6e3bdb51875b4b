select name from pragma_table_info('beats')
