-- The columns of a view or a table of the store with their types and comments, in order.
select column_name as column, lower(data_type) as type, comment as description,
from duckdb_columns()
where
    database_name = current_database()
    and case schema_name when 'main' then table_name else schema_name || '.' || table_name end = $name
order by column_index
