select {schema}.once(
    {schema}.at_home($1::text, $7::text), $2::text, $3::text, $4::text, $5::double precision, $6::text::timestamptz)
