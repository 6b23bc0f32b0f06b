"""ExampleGen: CSV, Parquet and image folders, in columns, to the splits train and eval."""
