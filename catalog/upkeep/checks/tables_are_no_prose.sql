-- A corpus holds texts, not the characters of a table or of markup; an earlier release read them so: ingest it anew.
with sources as (
    select
        corpus_id, name, unnest(
            regexp_extract_all(recipe, '"domain": "[^"]*", "location": "([^"]*)"', 1)
        ) as location
    from store.corpora
)
select 'corpus ' || corpus_id || ', ' || name || ', of ' || location as place
from sources
where
    not starts_with(location, 'hub:')
    and (
        regexp_matches(
            location,
            '(?i)\.(ndjson|jsonlines|ldjson|json|csv|tsv|tab|ipynb|x?html?|xml|svg|rss|srt|vtt|conllu?)(:[^/]*)?$'
        )
        or (regexp_matches(location, '(?i)\.(jsonl|parquet)$') and not regexp_matches(location, '\.(jsonl|parquet)$'))
    )
