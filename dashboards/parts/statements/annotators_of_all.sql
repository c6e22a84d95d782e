-- Who judged vectors: all people together, the program rules, then the people by name.
select annotator
from concept_share
group by annotator
order by annotator <> 'all', annotator <> 'rules', annotator
