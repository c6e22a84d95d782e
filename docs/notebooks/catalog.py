# /// script
# requires-python = ">=3.11"
# dependencies = ["marimo", "neurothek"]
# ///
"""Ten minutes with a catalog, as a marimo notebook; `make docs` writes the same for Jupyter.

Open it with `marimo edit catalog.py`, or `uvx marimo edit --sandbox catalog.py`, which installs what its head names.
"""

import marimo

app = marimo.App(width="medium")


@app.cell
def _():
    import marimo as mo

    return (mo,)


@app.cell
def _(mo):
    mo.md(r"""
    # Ten minutes with a catalog

    A catalog holds what was measured of every feed-forward neuron of some language models: the tokens that it promotes
    and suppresses, how often and on what it fires, its kind, and how random neurons and vectors do beside it. This
    notebook needs no network. `NEUROTHEK_CATALOG` names a catalog: a folder that `neurothek publish --to FOLDER`
    wrote, an address such as `hf://datasets/ORG/NAME`, or a warehouse's file. Without it a small model that ships with
    the package is measured, which takes some seconds, and published into the folder `published`.
    """)
    return


@app.cell
def _():
    import os
    from pathlib import Path

    import neurothek

    address = os.environ.get("NEUROTHEK_CATALOG", "published")
    if "NEUROTHEK_CATALOG" not in os.environ and not Path(address).exists():
        measured = neurothek.open("notebook.duckdb")
        measured.ingest("mini-opt-0.7m", tokens=20_000)
        measured.ingest("mini-opt-0.7m", job="controls")
        measured.publish(to=address)
    catalog = neurothek.open(address)
    catalog.models()
    return (catalog,)


@app.cell
def _(mo):
    mo.md(r"""
    ## Which neurons write a word?

    Words are found whatever their case and white space. z is the token's score among all scores of that neuron, in
    standard deviations; an answer shows its notes and the neurons, best first.
    """)
    return


@app.cell
def _(catalog):
    promoting = catalog.search("school", limit=10)
    promoting
    return (promoting,)


@app.cell
def _(mo):
    mo.md(r"""
    ## Which suppress it?
    """)
    return


@app.cell
def _(catalog):
    catalog.search("school", side="suppressed", limit=5)
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## One neuron

    Everything that is known of the first of them. Texts are there if the catalog was published with them.
    """)
    return


@app.cell
def _(catalog, promoting):
    neuron = catalog.neuron(promoting.neurons["address"][0])
    neuron
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## Measured, with nulls: does a neuron's list mean anything?

    The coherence of a list of promoted tokens stands beside that of lists of random vectors, as a percentile. Of lists
    that mean nothing, 5% would be above the 95th.
    """)
    return


@app.cell
def _(catalog):
    catalog.sql(
        """
        select
            model, layer, count(*) as n_neurons,
            round(avg(cast(coherence_percentile > 95 as integer)), 3) as share_beyond_95_of_random,
        from neurons
        group by model, size, layer
        order by size, model, layer
        """
    )
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## What fires, and how often?

    Every view is described by `catalog.schema()`; SQL is answered read-only, and a limit keeps long answers short.
    """)
    return


@app.cell
def _(catalog):
    catalog.sql("select model, layer, n_dead, median_frequency from layer_activity order by model, layer")
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## Models side by side

    One model shows no trend; several sizes of a family do.
    """)
    return


@app.cell
def _(catalog):
    catalog.compare()
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## Where do the numbers come from?

    Each measurement says on which text, with which versions and parameters, and when it was made.
    """)
    return


@app.cell
def _(catalog):
    catalog.runs().select("model", "job", "corpus", "finished_at", "n_rows", "versions")
    return


@app.cell
def _(mo):
    mo.md(r"""
    ## Further

    The cookbook of the documentation has questions with their SQL, `neurothek copy ADDRESS FILE` brings a catalog into
    a file of your own, `neurothek dashboard --warehouse ADDRESS` opens it in a browser, and `neurothek mcp` lets an
    assistant ask.
    """)
    return


if __name__ == "__main__":
    app.run()
