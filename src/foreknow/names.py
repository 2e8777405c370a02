"""Names: what people type who come from elsewhere, and what it is called here; one table of each.

A name that has one meaning here is taken for it. Where it has none, `ADVICE` says what to type.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any


def _our_names(table: Mapping[str, str]) -> dict[str, str]:
    """Our name for each of the names elsewhere, which `table` has in one text by our name."""
    names: dict[str, str] = {}
    for our_name, foreign_names in table.items():
        names |= dict.fromkeys(foreign_names.split(), our_name)
    return names


# What parameters of functions, and options of commands, are called elsewhere.
_PARAMETERS = {
    "quasi_identifiers": "qi qis qid qids quasi quasi_ids quasi_identifier quasi_identifying "
    "quasi_ident quasi_cols quasi_columns columns cols qi_cols qi_columns quasi_id key_vars "
    "quasi_identifier_columns keyVars keyvars",
    "sensitive": "sa sas sens sens_att sens_atts sensitive_att sensitive_attr sensitive_attrs "
    "sensitive_attribute sensitive_attributes sensitive_col sensitive_cols sensitive_column "
    "sensitive_columns sensitive_var sensibleVar sensitives target secret hide",
    "identifiers": "ident idents identifier identifying id ids id_columns direct_identifiers",
    "k_anonymity": "k min_k kanonymity k_anon",
    "l_diversity": "l l_div ldiversity",
    "t_closeness": "t t_close tcloseness",
    "out": "output output_path out_path folder path to into out_dir output_dir outdir dest "
    "destination target_dir",
    "policy": "rules config requirements require policy_file richtlinie politique politica politik",
    "method": "algorithm algo anonymizer",
    "methods": "method",
    "seed": "random_state random_seed rng",
    "sampling_fraction": "sample_fraction fraction",
    "after": "since previous earlier",
    "by": "column feature features",
    "suppression": "suppression_limit max_suppression max_outliers",
    "household": "hhId hh_id hhid hh household_id",
    "weights": "weightVar weight_var",
    "group_size": "min_group_size min_size",
}
PARAMETERS = _our_names(_PARAMETERS)
# What the table that comes first is called, in one function or another.
TABLES = {
    *("release", "microdata", "table", "data", "df", "frame", "data_frame", "dataset", "X"),
    *("folder", "source"),
}

# What commands are called elsewhere, or in Python.
_COMMANDS = {
    "audit": "l-diversity ldiversity t-closeness tcloseness "
    "check lint judge evaluate assess test score analyze analyse "
    "prufen pruefen auditieren auditer evaluer auditar evaluar valutare avaliar controleren",
    "publish": "anonymize anonymise republish deidentify de-identify protect release transform "
    "make run generalize generalise apply fix "
    # in German, French, Spanish, Italian, Portuguese and Dutch, without accents
    "anonymisieren veroffentlichen veroeffentlichen publizieren anonymiser publier anonimizar "
    "publicar anonimizzare pubblicare anonimiseren publiceren",
    "evidence": "gdpr dsgvo hipaa dpia report evidence-report document show explain",
    "init": "suggest suggest-policy first-policy profile infer new start detect configure",
    "risk": "risiko risque riesgo rischio risco risico "
    "risk-report risks reidentification k-anonymity kanonymity uniques uniqueness measure "
    "suda indiv-risk",
    "learned": "learned-report learn try trial",
    "curves": "disclosure-curves curve",
    "skyline": "skyline-report knowledge-skyline",
    "utility": "utility-report loss quality",
    "compare": "comparison benchmark",
    "explore": "gui ui app web serve view",
    "read": "read-release open to-csv to-pandas",
    "export": "to-excel to-xlsx to-spss to-stata convert save",
    "draw": "sample synthesize",
    "verify": "validate certificate proof prove "
    "verifizieren uberprufen ueberpruefen verifier verificar verificare verifieren",
    "schema": "json-schema policy-schema",
    "ask": "query",
}
COMMANDS = _our_names(_COMMANDS)
# Criteria that are typed as commands, and the options by which an audit measures them.
CRITERION_COMMANDS = {
    **dict.fromkeys(["l-diversity", "ldiversity"], ("--l-diversity", "2")),
    **dict.fromkeys(["t-closeness", "tcloseness"], ("--t-closeness", "0.2")),
}
# Words that ask what the columns of a table are: init prints it.
DESCRIBING = {"describe", "inspect", "info", "roles", "columns", "summary"}
# Words that ask for help.
HELP = "help hilfe aide ayuda aiuto ajuda hulp usage"

# What methods are called elsewhere: they choose one level for each column, or divide the people.
METHODS = _our_names(
    {
        "fulldomain": "incognito datafly flash ola samarati optimallatticeanonymization lattice "
        "globalrecoding globalrecode arx sdcmicro",
        "mondrian": "kanonymity kanon localrecoding multidimensional topdown clustering kmember "
        "default",
    }
)

# What no command does, and what to type.
_TO_TYPE = {
    "diff difference": "what a release keeps of its table: foreknow utility FOLDER TABLE; what "
    "methods keep: foreknow compare TABLE --policy policy.toml",
    "methods algorithms list ls": "a method is an option: foreknow publish TABLE --method NAME; "
    "each is described by foreknow publish --help, each command by foreknow --help",
    "columns roles info describe summary inspect head count schema-of debug dtypes stats "
    "statistics preview peek import load": "what each column is "
    "taken for: foreknow init TABLE; how many people share each combination: foreknow risk TABLE "
    "--quasi-identifiers age,sex; what is known of a release: foreknow evidence FOLDER",
    "config settings set login profiles": "all settings are in a policy file, which foreknow init "
    "TABLE writes; foreknow schema prints what it may hold",
    "drop exclude remove select columns-drop": "a column without a role in the policy is not "
    "published",
    "mask hash encrypt pseudonymize pseudonymise tokenize redact bin round pram "
    "microaggregate microaggregation local-suppression recode global-recode top-code topcode "
    "suppress suppression": "it is done by groups, as a policy says: foreknow publish TABLE "
    "--policy policy.toml --out FOLDER",
    "docs doc doctor guide tutorial man example examples": "foreknow COMMAND --help says "
    "what a command takes; foreknow demo shows all of it on a sample",
    "merge concat join append union combine": "one table is published at a time, and people who "
    "come later by foreknow publish TABLE --policy policy.toml --out FOLDER --after FOLDER",
    "build compile deps snapshot test-all ci checkpoint suite datasource expectation expect "
    "validate-all": "in a pipeline: foreknow audit FOLDER --policy policy.toml ends with 0 where "
    "all requirements hold, and with 1 where one fails",
    "plot chart graph dashboard": "pages with figures: foreknow evidence FOLDER, foreknow compare "
    "TABLE --policy policy.toml, or foreknow explore",
    "hierarchy hierarchies": "a policy has them, in [schema.hierarchies]: foreknow init TABLE "
    "suggests some",
    "k kanon k-anon l t delta": "a criterion is an option: foreknow audit TABLE "
    "--quasi-identifiers age,sex --sensitive diagnosis --k-anonymity 5",
    "dp epsilon noise counts crosstab": "Foreknow has no differential privacy, and protects no "
    "tables of counts: OpenDP and tau-Argus do; how many people share each combination: foreknow "
    "risk TABLE --quasi-identifiers age,sex",
    "household households weights reidentify re-identify": "how easily people are recognized: "
    "foreknow risk TABLE --quasi-identifiers age,sex, also with --household COLUMN and --weights "
    "COLUMN",
    "newcomers": "their rows are newcomers.csv in the owner's folder, after foreknow publish TABLE "
    "--policy policy.toml --out FOLDER --after FOLDER",
    "update upgrade install": "it is a package: pip install --upgrade foreknow",
    "uninstall": "it is a package: pip uninstall foreknow",
    "completion completions": "foreknow --install-completion installs it for the shell that is "
    "used",
    "history log versions": "what a release is, and which one it follows: foreknow verify FOLDER; "
    "to publish people who came later: foreknow publish TABLE --policy policy.toml --out FOLDER "
    "--after FOLDER",
    "undo delete rm clean unpublish revoke retract": "a release is a folder, removed as any other; "
    "one person is forgotten by foreknow forget FOLDER",
}

# What functions are called elsewhere.
_CALLS = {
    "audit": "judge evaluate assess lint",
    "publish": "anonymise deidentify de_identify republish",
    "suggest_policy": "guess guess_policy suggest_roles",
    "risk_report": "uniques uniqueness sample_uniques reidentification_risk individual_risk "
    "global_risk measure_risk measurement measure freqCalc freq_calc indivRisk indiv_risk",
    "utility_report": "information_loss loss",
    "l_diversity": "ldiversity l_div distinct_l_diversity",
    "t_closeness": "tcloseness t_close",
    "verify": "verify_release verify_certificate",
    "alpha_k_anonymity": "alpha_k",
    "is_k_anonymous": "is_kanonymous check_k_anonymity check_k",
}
CALLS = _our_names(_CALLS)

# What is looked for, and what to type; in Python.
_ADVICE = {
    "Foreknow Client Session": 'fk.publish("table.csv", "policy.toml"), or fk.audit of the same',
    "is_safe is_private is_anonymous passes": "fk.audit(release, policy).safe",
    "set_seed seed random_state": "randomness is a parameter: fk.publish(table, policy, seed=1)",
    "membership_inference attribute_inference inference singling_out linkability": "an attacker "
    "who learns from a release is fk.learned_report(release, people=table), and one who knows the "
    "method fk.attack(release)",
    "load_dataset load_data load_sample example example_data": "a made-up hospital register is "
    "fk.sample.load()",
    "Suppression": "fk.publish(table, policy, suppression=0.05)",
    "diff difference": "what a release keeps: fk.utility(release, table, policy=policy); what "
    "methods keep: fk.compare(table, policy)",
    "methods list_methods algorithms available_methods": "a method is given by its name or as an "
    'object: fk.publish(table, policy, method="mondrian"), method=fk.Mondrian(), '
    "fk.FullDomain(), fk.Anatomy(l=2)",
    "mask hash pseudonymize pseudonymise encrypt tokenize redact drop bin cut qcut shuffle "
    "swap": "a policy says how columns coarsen and which are published: fk.publish(table, policy)",
    "top_code topcode bottom_code topBotCoding top_bottom_coding top_coding "
    "bottom_coding": 'labels that end at 80 are fk.Requirement(levels={"age": {"top": 80}}), in a '
    "policy",
    "round rounding": 'fk.publish(table, policy, round={"cost": 100})',
    "plot show_plot chart": "fk.audit(release, policy).to_html(path); fk.compare(table, policy)",
    "config options set_option get_option settings set_options configure": "settings are those of "
    'a policy: fk.Policy("policy.toml"), and parameters of calls',
    "help docs": "help(fk.publish)",
    "policy": 'fk.Policy("policy.toml")',
    "version VERSION": "fk.__version__",
    "synthesize synthetic generate": 'of a release: fk.draw("folder", seed=1)',
    "to_csv to_parquet to_excel save write dump": "fk.publish(table, policy).to_csv(path), or "
    ".save(folder)",
    "concat merge join union append": "people who come later are published after the others: "
    'fk.publish(later, policy, after=["folder"])',
    "kanon k_anon": "fk.k_anonymity(release), fk.l_diversity, fk.t_closeness",
    "dRisk dUtility extractManipData risk_score": "fk.risk(release), fk.utility(release, table, "
    "policy=policy), and .to_pandas() of what fk.publish returned",
    "ARXConfiguration ARXResult AttributeType DataHandle DataType Config Configuration": "roles of "
    "columns are fk.Schema(quasi_identifiers=[...], sensitive=...), limits fk.Requirement("
    "k_anonymity=5)",
    "DistinctLDiversity EntropyLDiversity RecursiveCLDiversity LDiversityDistinct": "fk.LDiversity("
    '3, kind="distinct"), kind="entropy" or kind="recursive"',
    "EqualDistanceTCloseness OrderedDistanceTCloseness HierarchicalDistanceTCloseness": "fk."
    'TCloseness(0.2, distance="equal"), "ordered" or "hierarchical"',
    "HierarchyBuilder HierarchyBuilderIntervalBased IntervalHierarchy generate_intervals "
    "globalRecode global_recode recode": "fk.Intervals([5, 10]), in fk.Schema(hierarchies={...})",
    "get_context ExpectationSuite Checkpoint expect Validator": "fk.audit(release, policy).safe",
    "Table DataFrame from_pandas load open": "a table is given as "
    'it is, a path or a frame: fk.audit("table.csv", "policy.toml"); a release that was written is '
    'read by fk.read_release("folder")',
    "make release transform fit fit_transform generalize suppress suppression": "fk.publish(table, "
    "policy)",
    "test explain AuditResult": "fk.audit(release, policy)",
    "ask query": 'fk.Statements("Ann != flu").posterior(release, "Tom", "flu")',
    "priors": 'fk.Priors.learn(table, ["sex"], "diagnosis")',
    "schema": "fk.Schema(quasi_identifiers=[...], sensitive=...)",
    "sql": "`foreknow sql --policy policy.toml` prints the query; "
    "fk.Release.from_tally takes what it counts",
    "explore explorer demo gui": "it is a command: foreknow explore, foreknow demo",
    "Anonymizer AnonymityModel createSdcObj sdcMicroObj ARXAnonymizer Data": "fk.publish(table, "
    'quasi_identifiers=["age"], sensitive="diagnosis", k_anonymity=5)',
    "AverageReidentificationRisk SampleUniqueness": 'fk.Requirement(risk={"average": 0.1}), or '
    '"uniqueness" in place of "average"',
    "Datafly Incognito Flash OLA Samarati": 'fk.publish(table, policy, method="fulldomain")',
    "PrivacyModel privacy_model Criterion": "fk.Requirement(k_anonymity=5)",
    "Hierarchy create_hierarchy hierarchy hierarchies": "fk.Intervals, fk.Mask, "
    "fk.DateLevels, fk.Ordered or fk.Tree, in fk.Schema(hierarchies={...})",
    "recursive_c_l_diversity": 'fk.l_diversity(table, [...], "diagnosis", kind="recursive")',
    "report print_report Report": "fk.audit(...).summary() and .to_html(path); of a folder, "
    "fk.evidence",
    "RiskModel equivalence_classes": 'fk.risk(table, quasi_identifiers=["age", "zip"])',
    "suda suda2 dis": "fk.risk(table, quasi_identifiers=[...]).suda",
    "localSuppression local_suppression kAnon": "fk.publish(table, policy, "
    "method=fk.FullDomain(suppression=0.05, local_suppression=True))",
    "microaggregation pram addNoise add_noise "
    "noise": "Foreknow generalizes and suppresses by groups: fk.publish(table, policy)",
    "ncp NCP discernibility average_ecsize": "fk.utility(release, table, policy=policy)",
    "dp differential_privacy laplace DifferentialPrivacy epsilon": "Foreknow has no differential "
    "privacy; fk.publish(table, policy) limits how sure adversaries become",
    "datasets load_adult": "fk.sample.load()",
    "validate": 'fk.verify("folder"); of a policy file, fk.Policy("policy.toml")',
    "Error Exception": "fk.ForeknowError",
    "m_invariance": "fk.publish(table, policy, after=[...])",
}
# Options that a command has not, and what to type.
_OPTIONS = {
    "-q": "-q is --quiet; columns are named by --quasi-identifiers age,sex (or --qi)",
    "-k": "k-anonymity is --k-anonymity 5 (or --k 5)",
    "-f --force --overwrite --replace": "nothing is written over: name a new folder, "
    "or remove it first",
    "--format": "findings as JSON are --json FILE, and --json - to a pipe",
    "--output --out -o": "--html FILE writes a page, --json FILE plain values",
    "--original --raw --source --reference --data --file": "files and folders are named without an "
    "option, in the order of the first line",
    "-v": "--verbose says what columns were taken for; foreknow --version prints the version",
    "--csv --excel --xlsx --markdown --top --show-groups --groups": "--html FILE writes a page of "
    "what is judged, and --json FILE all of it",
    "--json": "a page is --html FILE or --out FILE, where a command has one; findings as JSON are "
    "those of an audit: foreknow audit FOLDER --json FILE",
    "--threads --jobs --n-jobs --workers --cores --parallel": "how many cores are used is not set, "
    "but by OMP_NUM_THREADS or taskset",
    "--fast --quick --time --timeout --max-time": "an attack is shortened by --seconds 10; all "
    "else runs until it is done",
    "--locale --lang --language": "texts are in English; how numbers and dates of a file are "
    "written is said by --decimal and --date-format",
    "--pdf": "a browser prints the page as PDF",
    "--k --k-anonymity": "a limit is judged by foreknow audit TABLE --quasi-identifiers age,sex "
    "--sensitive diagnosis --k-anonymity 5",
    "--max-k --all": "foreknow COMMAND --help says what a command takes",
    "--no-report": "a report is written with every release, and is for your readers",
    "--where --filter --query": "all people of a table are published: give a file without the "
    "others",
    "nothing": "it takes no table; roles of columns are suggested by foreknow init TABLE",
    "releases": "several releases are judged together by foreknow audit FOLDER FOLDER --policy "
    "policy.toml; what one keeps of its table: foreknow utility FOLDER TABLE; an attack takes a "
    "folder, or foreknow attack TABLE --release FOLDER",
    "files": "one table is read at a time; people who come later are published with --after FOLDER",
    "extra": "columns are named with commas between: --quasi-identifiers age,zip",
    "--threshold --limit --max-risk --below --confidence --strict": "limits are in the policy, "
    "such as below = 0.5 under [[require]]; a release that breaks one ends with exit code 1",
    "--id --ids --identifier --identifiers --primary-key": "identifiers are in the policy, as "
    'identifiers = ["pid"]; foreknow init TABLE finds some',
    "-n --n --rows --size --head --nrows": "all people of a table or release are taken: "
    "give a file with fewer rows",
    "--drop --exclude --ignore --remove --keep --select --usecols": "a column without a role in "
    "the policy is not published: leave it out of quasi_identifiers and other",
    "--suppression --suppress": "a policy says it: suppression = 0.05, in [publish]",
    "--top-coding --top-code --topcode --bottom-coding --bottom-code": "a policy says it: levels = "
    "{ age = { top = 80 } }, under [[require]]",
    "--round --rounding": "a policy says it: round = { cost = 100 }, in [publish]",
    "--weights --weight --weight-var": 'weights of a survey are weights = "w", in [schema] of a '
    "policy, and risk takes --weights COLUMN",
    "--person --unit": 'a policy says whose cases rows are: unit = "row" and person = '
    '"patient_id", in [schema]',
    "--household --hh": "risk takes --household COLUMN; groups of households are k_anonymity = "
    '{ k = 5, of = "household" }, under [[require]]',
    "--codes --code-map": 'a policy says it: map = "old_to_new.csv", in [schema.codes]',
    "--given --fact --facts --known": "what is known is a statement behind the release, such as "
    '"Tom != Cancer"',
    "--trial --try": 'a policy says it: learned = { by = ["age"] }, under [[try]]',
    "--after": "give the table that publish took: who was published before is left out",
    "--mask --hash --generalize --recode --hierarchy --hierarchies": "a "
    "policy says how columns coarsen, in [schema.hierarchies]; foreknow init TABLE writes one",
    "--progress --debug --verbose --log-level --log": "--quiet prints nothing but errors",
    "--epsilon --delta --noise --dp": "Foreknow has no differential privacy; a policy limits how "
    "sure adversaries become",
    "--vars --profiles-dir --project-dir --target-path --profile --env": "all settings are in a "
    "policy file: --policy policy.toml",
    "--yes -y --no-input --interactive": "nothing is asked; what exists is not written over",
    "--header --index --index-col --dtype --parse-dates --na-values --missing --na": "a policy "
    "says how a file is read, in [schema.reading] and [schema.types]; foreknow init TABLE writes "
    "one",
    "--html": "--out FILE names the page of a release; foreknow audit RELEASE --html FILE writes "
    "that of a verdict",
}

# What tables of policies are called elsewhere, and roles of columns in a table of them.
POLICY_TABLES = _our_names(
    {
        "schema": "schema_",
        "require": "requirements requires required rules criteria constraints privacy "
        "privacy_model privacy_models limits",
        "try": "trials tries attacks",
        "publish": "publishing",
    }
)
ROLES_TABLES = ["columns", "roles", "attributes", "variables", "fields"]
# Tables of any keys, each of which belongs where ours has it.
WRAPPERS = {
    *("privacy", "privacy_parameters", "model", "parameters", "params"),
    *("anonymization", "anonymisation", "anonymize", "anonymise"),
    *("settings", "options", "config", "configuration"),
}
# Keys of a schema for columns that have no role.
WITHOUT_ROLE = ("drop", "exclude", "ignore", "remove")
ROLES = _our_names(
    {
        "quasi_identifiers": "quasi quasiidentifier quasiidentifying qi qid keyvariable key keyvar",
        "sensitive": "sensitive sensitiveattribute sa secret",
        "identifiers": "identifier identifying directidentifier direct id",
        "other": "other insensitive nonsensitive public",
        "none": "none drop exclude ignore remove suppress delete",
    }
)
# Formats of exports, as the option --to has them.
EXPORTS = {"excel": "xlsx", "xls": "xlsx", "spss": "sav", "stata": "dta"}
# What choices of [publish] are called elsewhere.
SETTINGS = _our_names(
    {
        "method": "algorithm algo anonymizer",
        "suppression": "suppression_limit max_suppression supp_level suppress max_suppressed",
    }
)

# What tables of the schema are called elsewhere.
SCHEMA_TABLES = _our_names(
    {"hierarchies": "hierarchy generalization generalizations generalisation generalisations vgh"}
)
# Sizes of groups, further criteria that are whole numbers, and those of which a number states one
# setting; methods that
# may leave some people out.
SIZES = ("k_anonymity", "group_size")
WHOLE = (*SIZES, "l_diversity")
FIRST_SETTINGS = {
    "l_diversity": "l",
    "t_closeness": "t",
    "beta_likeness": "beta",
    "delta_disclosure": "delta",
}
SUPPRESSING = ("mondrian", "fulldomain")
# What the settings of criteria are called elsewhere, and their values.
CRITERION_SETTINGS = {
    "l_diversity": _our_names({"l": "value min", "kind": "type variant mode"}),
    "t_closeness": _our_names({"t": "value max", "distance": "type metric measure"}),
    "alpha_k": _our_names({"alpha": "a"}),
}
SETTING_VALUES = _our_names(
    {
        "distinct": "distinct_l_diversity",
        "entropy": "entropy_l_diversity shannon",
        "recursive": "recursive_c_l_diversity recursive_cl",
        "ordered": "ordinal numeric numerical ordered_distance",
        "equal": "categorical nominal equal_distance",
        "hierarchical": "hierarchy tree hierarchical_distance",
    }
)
# Criteria that have a name of their own elsewhere: which they are here, with which setting.
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "distinct_l_diversity": ("l_diversity", {"kind": "distinct"}),
    "entropy_l_diversity": ("l_diversity", {"kind": "entropy"}),
    "recursive_c_l_diversity": ("l_diversity", {"kind": "recursive"}),
    "recursive_l_diversity": ("l_diversity", {"kind": "recursive"}),
    "alpha_k_anonymity": ("alpha_k", {}),
    "basic_beta_likeness": ("beta_likeness", {"enhanced": False}),
    "enhanced_beta_likeness": ("beta_likeness", {"enhanced": True}),
    "delta_disclosure_privacy": ("delta_disclosure", {}),
    "equal_t_closeness": ("t_closeness", {"distance": "equal"}),
    "ordered_t_closeness": ("t_closeness", {"distance": "ordered"}),
    "hierarchical_t_closeness": ("t_closeness", {"distance": "hierarchical"}),
}
# Keys that say which criterion a table is, or which ones are beside them.
CRITERION_KEYS = {"type", "model", "criterion", "privacy_model"}
MODEL_KEYS = {"privacy_model", "privacy_models", "model", "models", "criterion", "criteria"}
# What types of columns are called elsewhere.
TYPES = _our_names(
    {
        "number": "number int integer float decimal numeric numerical",
        "text": "text str string categorical category",
        "date": "date datetime",
    }
)
# What the settings of hierarchies are called elsewhere.
HIERARCHY_SETTINGS = _our_names(
    {
        "intervals": "interval width widths step steps size bin_size bin_width",
        "order": "ordered ordering",
        "file": "path csv filename",
        "rows": "table levels",
    }
)
HIERARCHY_TYPES = _our_names(
    {
        "intervals": "interval intervals range ranges numeric number binning bins",
        "dates": "date dates",
        "order": "ordered ordinal order",
        "file": "file csv",
        "mask": "mask masking prefix redaction",
    }
)

# Keys of policies elsewhere, and what a policy says here.
_KEYS = {
    "k kanonymity k_anon min_k": "k_anonymity = 5, under [[require]]",
    "l ldiversity l_div": 'l_diversity = { l = 3, kind = "distinct" }, under [[require]]',
    "t tcloseness t_close": 't_closeness = { t = 0.2, distance = "equal" }, under [[require]]',
    "limit max threshold maximum confidence less_than max_probability max_confidence": "a limit is "
    "below = 0.5, beside facts",
    "privacy privacy_models criteria rules constraints": "what must hold is in [[require]] tables",
    "id ids identifier pk primary_key": 'identifiers = ["pid"]',
    "drop exclude ignore remove insensitive": "a column without a role is not published: name it "
    "nowhere in [schema]",
    "household family home": 'shared = { by = "household", values = ["diagnosis"] }, in [schema]',
    "suppression suppression_limit max_suppression suppress": "suppression = 0.05, in [publish]",
    "out output folder path": "foreknow publish TABLE --policy policy.toml --out FOLDER names it",
    "algorithm algo anonymizer": 'method = "mondrian", in [publish]',
    "seed random_state": "foreknow publish TABLE --policy policy.toml --out FOLDER --seed 5",
    "after since": "foreknow publish TABLE --policy policy.toml --out FOLDER --after FOLDER",
    "hide secret protect sensitive_values value": 'values = ["B20"] names what is limited; left '
    "out, every value is",
    "column": 'sensitive = "diagnosis"',
    "by": 'an attack is learned = { by = ["age"] }, under [[try]]',
    "columns roles": 'roles are quasi_identifiers = ["age"] and sensitive = "diagnosis", in '
    "[schema]",
    "under maximum_risk at": "a limit is below = 0.5, beside facts",
    "adversary attacker knowledge knows": "what is known is facts = { l = 1, k = 3 }, in "
    "[[require]]",
    "sep separator na na_values encoding date_format thousands currency latest_year": "how a file "
    'is read is reading = { encoding = "latin-1" }, in [schema]',
    "exact": 'exact labels are labels = { age = "exact" }, in [publish]',
    "trial trials attack attacks": 'an attack is learned = { by = ["age"] }, under [[try]]',
}
# A table that is written as a plain value elsewhere.
EXAMPLES = {
    "l_diversity": '{ l = 3, kind = "distinct" }',
    "t_closeness": '{ t = 0.2, distance = "equal" }',
    "alpha_k": "{ alpha = 0.5, k = 5 }",
    "hierarchies": "{ intervals = [5, 10] } or { mask = 5 }",
    "facts": "{ l = 1, k = 3 }",
    "learned": '{ by = ["age"] }',
    "risk": "{ prosecutor = 0.2 }",
}
# Letters of options that others give them.
LETTERS = {"-k": "--k-anonymity", "-l": "--l-diversity", "-m": "--method"}
# Options that are the setting of a method.
SETTING_OPTIONS = {
    "--suppression": "suppression",
    "--suppression-limit": "suppression",
    "--max-suppression": "suppression",
    "--suppression-rate": "suppression",
    "--supp-level": "suppression",
    "--max-outliers": "suppression",
}
# Options without a value that are one with a value.
SPELLED_OUT = {
    "--stdout": ("--out", "-"),
    "--xlsx": ("--to", "xlsx"),
    "--local-suppression": ("--set", "local_suppression=true"),
    "--excel": ("--to", "xlsx"),
    "--spss": ("--to", "sav"),
    "--stata": ("--to", "dta"),
}
# Flags of one option only.
FLAGS = _our_names(
    {
        "--table": "sheet sheet-name sheet_name worksheet tab",
        "--delimiter": "sep separator",
        "--about": "who whom person",
        "--person": "name id",
        "--household": "hh hhid hh-id household-id",
        "--weights": "weight weight-var",
        "--to": "format",
    }
)

# Parameters that belong elsewhere, and where.
_ELSEWHERE = {
    "drop exclude drop_columns ignore remove keep usecols": "; a column without a role is not "
    "published: leave it out of quasi_identifiers and other of the schema",
    "overwrite force exist_ok replace inplace": "; nothing is written over: name a new folder",
    "n_rows n_samples sample_size nrows num_rows": "; all people are taken: of a frame, "
    ".sample(n) takes some rows",
    "verbose quiet progress debug": "; nothing is printed: see .summary() of what it returns",
    "out output path": "; what it returns is written by its .save(path), .write(path) or "
    ".to_html(path)",
    "epsilon dp noise": "; Foreknow has no differential privacy; a policy limits how sure "
    "adversaries become",
    "n_jobs jobs threads workers parallel cores": "; how many cores are used is not set",
    "supp_level suppress max_suppressed": "; it is a share: suppression=0.05",
    "local_suppression localSuppression": "; it is for a method: "
    "method=fk.FullDomain(suppression=0.05, local_suppression=True)",
    "rounding": '; a policy says it, or fk.publish(table, policy, round={"cost": 100})',
    "top bottom top_coding bottom_coding": '; a policy says it: levels={"age": {"top": 80}}',
    "of": '; it is for a criterion: k_anonymity={"k": 3, "of": 2}',
    "household": '; it is for fk.risk, and for a criterion: k_anonymity={"k": 5, "of": '
    '"household"}; what they share is shared={"by": "household", "values": ["diagnosis"]}',
    "index sep header": "; a frame is .to_pandas(), which is written as pandas does",
    "r": '; it is for a method: method=fk.ART(r=4, priors=fk.Priors.learn(table, ["sex"], '
    '"diagnosis"))',
}

# What the table of a publication is called elsewhere: attributes, and calls.
TABLE_OF = ("df", "frame", "data", "table", "dataframe")
CALLS_OF_TABLE = ("to_frame", "to_dataframe", "to_df", "head", "tail", "sample", "describe")
# What attributes of results are called elsewhere.
ATTRIBUTES = _our_names({"safe": "passed ok", "to_frame": "to_dataframe to_df", "save": "to_toml"})

# Attributes that others call, as functions.
CALLED = {"is_safe": "safe", "is_private": "safe"}

# What objects are asked for that they do not have.
_OF_OBJECTS = {
    "to_pandas to_polars to_arrow to_frame df frame data table to_csv to_parquet to_excel head": (
        "the table is .to_pandas() of what fk.publish returned; of a folder, fk.read_release"
    ),
    "to_json json dict asdict as_dict": "see .to_dict()",
    "to_dataframe": "see .to_frame()",
    "failed fails violations failures failing": "see .verdicts, each with .safe",
    "groups n_groups smallest_group equivalence_classes": "of an audit see .counts.n_groups; of a "
    "publication, .groups has the size of each",
    "n_people n rows shape": "of an audit see .people",
    "check verify evaluate apply holds measure satisfied test validate judge": "fk.audit(release, "
    "policy) judges; a criterion has .holds(release), a folder "
    'fk.verify("folder")',
    "to_txt to_md to_markdown to_latex": "see .summary()",
    "loc iloc columns shape_of groupby describe info sample": "of a frame: .to_pandas() of what "
    "fk.publish returned",
    "to_toml": "see .save(path)",
    "plot show print draw figure html report save": "see .summary() and .to_html(path)",
    "fit fit_transform transform anonymize get_params": "it is given to fk.publish(table, policy, "
    "method=...)",
    "safe is_safe passed ok result": "an audit has .safe; fk.verify raises an error where anything "
    "fails, so what it returns holds",
    "k": "see fk.k_anonymity(release)",
    "sensitive quasi_identifiers identifiers": "roles of columns are those of a schema, as "
    "policy.schema.sensitive",
    "add append extend": "a policy is not changed: fk.Policy([*policy.requirements, "
    "fk.Requirement(k_anonymity=5)], policy.schema) is a further one",
    "limit threshold limits": "see .points, each with .below",
    "max_risk average_risk highest_risk risk risks": "of an audit see .worst; of fk.risk "
    ".prosecutor, with .highest and .average",
    "requirements require": "see .policy.requirements, and .verdicts",
    "summary": "see .to_toml() and .columns of a suggestion, else .to_dict()",
    "copy clone deepcopy": "it is never changed, so no copy is needed",
    "score global_risk value values unique uniqueness highest average max mean": ("see .to_dict()"),
    "probability posterior confidence": "an adversary has .disclosure(release), with .probability",
}

# What the result of publishing is asked for that it does not have.
_OF_PUBLICATIONS = {
    "ncp loss information_loss discernibility smallest_group n_groups": "see .utility, which has "
    ".ncp, .discernibility and sizes of groups",
    "to_excel to_xlsx to_stata to_dta to_spss to_sav export": "write it by .save(folder), then: "
    "foreknow export FOLDER --to xlsx (or sav, or dta)",
    "report html": "its page is .to_html(path); a page for an assessor, of a written folder, is "
    "fk.evidence(folder)",
    "risk risks": "fk.risk of it; an adversary's highest is .audit.worst",
}


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    """The hint for each name."""
    hints: dict[str, str] = {}
    for names, hint in table.items():
        hints |= dict.fromkeys(names.split(), hint)
    return hints


# Of a name that is not in `foreknow`, and of what an object does not have.
ADVICE, OF_OBJECTS = _by_name(_ADVICE), _by_name(_OF_OBJECTS)
OF_PUBLICATIONS = _by_name(_OF_PUBLICATIONS)
OPTIONS, ELSEWHERE = _by_name(_OPTIONS), _by_name(_ELSEWHERE)
KEYS = _by_name(_KEYS)
TO_TYPE = _by_name(_TO_TYPE)  # of a command that is none


_LOADERS = {"load", "loads", "read", "from_file", "from_toml", "from_dict"}


class CallableModule(ModuleType):
    """A folder that is an attribute of `foreknow`, where others look for a function."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call the public function of this name; if there is none, the error says what to type."""
        package, _, name = self.__name__.rpartition(".")
        return vars(sys.modules[package])["__getattr__"](name)(*args, **keywords)

    def __getattr__(self, name: str) -> Any:
        """A class that `foreknow` has, or a function that the class of the folder's name has."""
        folder = self.__name__.rpartition(".")[2]
        public = vars(sys.modules["foreknow"])["__getattr__"]
        if name[:1].isupper():
            return public(name)
        if name in _LOADERS and folder == "policy":
            return getattr(public("Policy"), name)
        raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")


def own_name(name: str, parameter_names: Iterable[str]) -> str | None:
    """The parameter of a function that a name from another tool stands for; None if it has none.

    None, too, if the function has a parameter of the name itself.

    >>> own_name("qi", ["table", "quasi_identifiers"]), own_name("k", ["k", "k_anonymity"])
    ('quasi_identifiers', None)
    """
    parameter, known_names = PARAMETERS.get(name), {*parameter_names}
    return parameter if parameter in known_names and name not in known_names else None


def renamed(
    arguments_by_name: Mapping[str, Any], parameter_names: list[str], filled: int
) -> dict[str, Any]:
    """Arguments by name, under the names that the function has for them.

    `filled` is how many arguments are given by position. A name stays if it is not known, or if its
    parameter is given already.
    """
    arguments: dict[str, Any] = {}
    for name, value in arguments_by_name.items():
        target = own_name(name, parameter_names)
        # Names such as `df` stand for the first parameter, if this is a table.
        if (
            name in TABLES
            and name not in parameter_names
            and parameter_names[0] in TABLES
            and not filled
        ):
            target = parameter_names[0]
        if target is None or target in arguments_by_name or target in arguments:
            target = name
        arguments[target] = value
    return arguments
