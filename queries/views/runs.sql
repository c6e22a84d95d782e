-- One row per published run: which job measured what, when, with which parameters.
-- Why: every number follows a convention, and this is where the conventions are kept. From: store.runs. Source: this
-- project. Runs that are still being measured, failed or were interrupted are also shown by `neurothek runs`.
-- key: run_id
-- columns:
--   run_id: Number of the run in this file; facts carry it.
--   model: Name of the model.
--   job: Name of the job.
--   corpus: Name of the corpus; null for jobs that read only weights.
--   other_model: Name of the model that it was compared with; null for jobs about one model.
--   state: published.
--   started_at: When the first part of the run began (UTC).
--   finished_at: When its last part was measured (UTC).
--   n_rows: Rows it published.
--   dtype: Number format the model computed in.
--   job_version: Version of the job; raised when a number's meaning changes.
--   parameters: Parameters of the run, as JSON.
--   versions: Versions of neurothek and of the libraries used, as JSON.
--   run_key: sha256 of everything that changes the run's numbers.
select
    runs.run_id,
    models.name as model,
    runs.job,
    corpora.name as corpus,
    other_models.name as other_model,
    'published' as state,
    runs.started_at,
    runs.finished_at,
    runs.n_rows,
    runs.dtype,
    runs.job_version,
    runs.parameters,
    runs.versions,
    runs.run_key,
from store.runs as runs
inner join store.models as models on models.model_id = runs.model_id
left join store.corpora as corpora on corpora.corpus_id = runs.corpus_id
left join store.models as other_models on other_models.model_id = runs.other_model_id
