-- The neurons whose value vectors point most nearly in the direction of one neuron's; of a gated model what they write
-- where they do as it does at its pole.
select
    rank,
    other_address as address,
    cosine,
    case
        when $pole is null then null
        when ($pole = 'negative') = (cosine < 0) then 'positive'
        else 'negative'
    end as pole,
    case when $pole is not null and ($pole = 'negative') <> (cosine < 0) then other_bottom_tokens else other_top_tokens end
        as top_tokens,
from neighbours
where model = $model and layer = $layer and neuron = $neuron
order by rank
