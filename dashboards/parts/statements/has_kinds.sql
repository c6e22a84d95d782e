-- Whether a model has neurons of any kind that can be turned off; those that n-grams alone make one are not looked for.
select
    exists(
        select 1
        from neurons
        where
            model = $model
            and (
                is_dead
                or (is_negligible and is_dead is null)
                or is_token_detector
                or position_strength in ('strong', 'weak')
                or times_dominant > 0
            )
    ) as has_kinds,
