-- How well a linear map stands for each part of a layer of one model, on its shown corpus.
select
    measured_corpora.model,
    fits.layer,
    (fits.layer + 0.5::double) / models.n_layers as depth,
    fits.sub_module,
    fits.r2,
    fits.n_fit,
    fits.n_validation,
    measured_corpora.corpus,
from store.sub_module_fits as fits
inner join measured_corpora
    on measured_corpora.model_id = fits.model_id and measured_corpora.corpus_id = fits.corpus_id
inner join store.models as models on models.model_id = fits.model_id
where measured_corpora.is_shown and measured_corpora.model = $model
order by fits.sub_module, fits.layer
