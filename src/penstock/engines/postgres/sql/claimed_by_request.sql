select id::text, token::text from {schema}.jobs
where worker = %(worker)s and request = %(request)s and state = 'active'
