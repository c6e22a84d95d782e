-- What columns are called, of views and tables.
select distinct column_name as name
from duckdb_columns()
where database_name = current_database() and schema_name in ('main', 'store') and not internal
order by name
