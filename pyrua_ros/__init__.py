"""A vision-language model does real work with a Franka arm by writing short Python cells."""
