-- What has ended, each side in the order of its primary key, at most a page of each.
select * from (
    (select {_record_columns},
        case when state <> 'completed' then {schema}.error_message(errors, note) end as error_message
     from {schema}.finished where {where} order by finished.id desc limit %(limit)s)
    union all
    (select {_record_columns}, error as error_message
     from {schema}.history where {where} order by history.id desc limit %(limit)s)
) page
order by id collate "C" desc limit %(limit)s
