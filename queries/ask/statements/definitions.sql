-- What the file holds beside rows of plain columns: its relations, and what stands behind their names and columns.
-- Every function is called by its full name: a macro of the file may have the same short one.
select 'view' as kind, view_name as name, sql as text
from system.main.duckdb_views()
where not internal
union all
select 'table' as kind, table_name as name, null as text
from system.main.duckdb_tables()
where not internal
union all
select 'column' as kind, table_name as name, generation_expression as text
from system.main.duckdb_columns()
where is_generated and not internal
union all
select 'macro' as kind, function_name as name, null as text
from system.main.duckdb_functions()
where not internal
