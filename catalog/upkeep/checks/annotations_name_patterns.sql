-- A concept has a name, one of four classes and at least 4 of the tokens shown; without a concept there is none of these.
select 'annotation ' || annotation_id as place
from store.annotations
where
    trim(annotator) in ('', 'all')
    or case
        when concept is null then class is not null or len(token_ids) > 0
        else
            trim(concept) = ''
            or coalesce(class not in ('semantic', 'syntactic', 'names', 'stopwords-punctuation'), true)
            or len(list_distinct(token_ids)) < 4
            or len(list_distinct(token_ids)) <> len(token_ids)
            or not list_has_all(shown_token_ids, token_ids)
    end
