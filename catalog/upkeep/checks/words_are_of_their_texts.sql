-- The word of a token is its text in lower case, without surrounding white space or the mark of a word's later parts.
with folded as (
    select tokenizer_id, token_id, word, lower(regexp_replace(text, '^\s+|\s+$', '', 'g')) as whole
    from store.tokens
    -- Beyond these, engines differ in what they call white space and lower case.
    where regexp_full_match(text, '[\x20-\x7E\t\n]*')
),
marks as (
    -- A tokenizer has one mark or none.
    select tokenizer_id, mode(whole[:length(whole) - length(word)]) as mark
    from folded
    where word <> whole and ends_with(whole, word)
    group by tokenizer_id
)
select 'tokenizer ' || folded.tokenizer_id || ', token ' || folded.token_id as place
from folded
left join marks on marks.tokenizer_id = folded.tokenizer_id
where
    folded.word <> case
        when starts_with(folded.whole, marks.mark) then folded.whole[length(marks.mark) + 1:]
        else folded.whole
    end
