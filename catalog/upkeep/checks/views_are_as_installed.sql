-- Every view is as it was installed, with its comments; if one is not, export the file and import it anew.
with found as (
    select view_name as name, comment
    from duckdb_views()
    where database_name = current_database() and schema_name = 'main'
),
columns as (
    select table_name as name, column_name, comment
    from duckdb_columns()
    where database_name = current_database() and schema_name = 'main'
)
select 'view ' || installed.name as place
from store.installed_views as installed
left join found on found.name = installed.name
where found.comment is null
union all
-- What replaces a view has no comments of its own.
select 'column ' || columns.column_name || ' of view ' || columns.name as place
from columns
inner join store.installed_views as installed on installed.name = columns.name
where columns.comment is null
