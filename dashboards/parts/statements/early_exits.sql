-- What rules that leave some models early cost and save.
select
    model, method, accuracy, accuracy_sd, layers_saved, layers_saved_sd, layers_saved_correct, exited_share,
    exited_accuracy, n_layers, n_clusters_asked, n_seeds, n, corpus,
from early_exits
where list_contains($models::varchar[], model)
order by size, model, method
