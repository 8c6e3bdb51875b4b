select id, state, duplicate from {schema}.enqueue($1::text::json, $2::boolean, $3::text::timestamptz)
