"""A job that learns from files as they arrive, until no files are left. A test kills and restarts the job."""

import sys

from pyspark.sql import SparkSession

import hashbrook.spark as hs

directory, files, warmup = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]")
    .config("spark.ui.enabled", "false")
    .config("spark.driver.bindAddress", "127.0.0.1")
    .config("spark.driver.host", "127.0.0.1")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.local.dir", f"{directory}/local")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
schema = "id long, vector array<float>, label string"
stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(files)
query = hs.learn_stream(
    stream, f"{directory}/model", checkpoint=f"{directory}/checkpoint", out=f"{directory}/codes",
    trigger={"availableNow": True}, bits=32, warmup=int(warmup), anchors=40,
)
print("started", flush=True)
query.awaitTermination()
print("ended", flush=True)
