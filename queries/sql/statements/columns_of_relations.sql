-- The columns of every view and table, by the name of what has them: views as people query them, tables of the store.
select
    case when schema_name = 'store' then 'store.' else '' end || table_name as relation,
    column_name as name,
from duckdb_columns()
where database_name = current_database() and schema_name in ('main', 'store') and not internal
order by relation, column_index
