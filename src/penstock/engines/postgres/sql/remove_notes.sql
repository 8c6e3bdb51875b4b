with gone as (
    delete from {schema}.notes n where kind = %(kind)s and key = any(%(keys)b::text[])
    returning {_live_note} as there
)
select count(*) from gone where there
