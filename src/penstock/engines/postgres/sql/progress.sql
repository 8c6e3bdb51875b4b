update {schema}.jobs set progress = %(progress)s::json
where id = %(id)s::uuid and token = %(token)s::uuid and state = 'active'
returning true
