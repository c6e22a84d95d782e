-- What ten neurons do to the token that an event is about, for some models.
select *,
from event_scores
where list_contains($models::varchar[], model)
order by model, event, kind
