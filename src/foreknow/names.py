"""Names: what people type who come from elsewhere, and what it is called here; one table of each.

A name that has one meaning here is taken for it. Where it has none, `ADVICE` says what to type.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import ModuleType
from typing import Any

# What parameters of functions, and options of commands, are called elsewhere.
_PARAMETERS = {
    "quasi_identifiers": "qi qis qid qids quasi quasi_ids quasi_identifier quasi_identifying "
    "quasi_ident quasi_cols quasi_columns columns cols qi_cols qi_columns quasi_id key_vars "
    "quasi_identifier_columns keyVars keyvars",
    "sensitive": "sa sas sens sens_att sens_atts sensitive_att sensitive_attr sensitive_attrs "
    "sensitive_attribute sensitive_attributes sensitive_col sensitive_cols sensitive_column "
    "sensitive_columns sensitive_var sensibleVar sensitives target secret",
    "identifiers": "ident idents identifier identifying ids id_columns direct_identifiers",
    "k_anonymity": "k min_k kanonymity k_anon",
    "l_diversity": "l l_div ldiversity",
    "t_closeness": "t t_close tcloseness",
    "out": "output folder path out_dir output_dir outdir dest",
    "policy": "rules config requirements require policy_file",
    "method": "algorithm algo anonymizer",
    "methods": "method",
    "seed": "random_state random_seed rng",
    "sampling_fraction": "sample_fraction fraction",
}
PARAMETERS = {
    foreign_name: our_name
    for our_name, foreign_names in _PARAMETERS.items()
    for foreign_name in foreign_names.split()
}
# What the table that comes first is called, in one function or another.
TABLES = {
    *("release", "microdata", "table", "data", "df", "frame", "data_frame", "dataset", "X"),
    *("folder", "source"),
}

# What commands are called elsewhere, or in Python.
_COMMANDS = {
    "audit": "check judge evaluate assess test score analyze analyse",
    "publish": "anonymize anonymise deidentify de-identify protect release transform make run "
    "generalize generalise",
    "evidence": "report evidence-report document show",
    "init": "suggest suggest-policy first-policy profile infer new start",
    "risk": "risk-report risks reidentification k-anonymity kanonymity uniques uniqueness measure",
    "learned": "learned-report learn",
    "curves": "disclosure-curves curve",
    "skyline": "skyline-report knowledge-skyline",
    "utility": "utility-report loss quality",
    "compare": "comparison benchmark",
    "explore": "gui ui app web serve view",
    "read": "read-release open",
    "draw": "sample synthesize",
    "verify": "validate",
    "schema": "json-schema policy-schema",
    "ask": "query",
}
COMMANDS = {
    foreign_name: our_name
    for our_name, foreign_names in _COMMANDS.items()
    for foreign_name in foreign_names.split()
}

# What is looked for, and what to type; in Python.
_ADVICE = {
    "Table DataFrame from_pandas load open": "a table is given as "
    'it is, a path or a frame: fk.audit("table.csv", "policy.toml"); a release that was written is '
    'read by fk.read_release("folder")',
    "make release transform fit fit_transform generalize suppress suppression": "fk.publish(table, "
    "policy)",
    "judge evaluate assess test explain AuditResult": "fk.audit(release, policy)",
    "load_policy read_policy": 'fk.Policy("policy.toml")',
    "profile suggest infer_schema first_policy guess describe": "fk.suggest_policy(table)",
    "ask query": 'fk.Statements("Ann != flu").posterior(release, "Tom", "flu")',
    "priors": 'fk.Priors.learn(table, ["sex"], "diagnosis")',
    "schema": "fk.Schema(quasi_identifiers=[...], sensitive=...)",
    "sql": "`foreknow sql --policy policy.toml` prints the query; "
    "fk.Release.from_tally takes what it counts",
    "explore explorer demo gui": "it is a command: foreknow explore, foreknow demo",
    "Anonymizer AnonymityModel createSdcObj sdcMicroObj ARXAnonymizer Data": "fk.publish(table, "
    'quasi_identifiers=["age"], sensitive="diagnosis", k_anonymity=5)',
    "PrivacyModel privacy_model Criterion": "fk.Requirement(k_anonymity=5)",
    "Hierarchy create_hierarchy hierarchy hierarchies": "fk.Intervals, fk.Mask, "
    "fk.DateLevels, fk.Ordered or fk.Tree, in fk.Schema(hierarchies={...})",
    "entropy_l_diversity": 'fk.l_diversity(table, [...], "diagnosis", kind="entropy")',
    "recursive_c_l_diversity": 'fk.l_diversity(table, [...], "diagnosis", kind="recursive")',
    "alpha_k_anonymity": "fk.AlphaK(0.5, 5).holds(release)",
    "basic_beta_likeness enhanced_beta_likeness": "fk.beta_likeness(table, [...], "
    '"diagnosis", enhanced=False)',
    "anonymity": 'fk.k_anonymity(table, ["age", "zip"]), fk.l_diversity, fk.t_closeness',
    "report print_report Report": "fk.audit(...).summary() and .to_html(path); of a folder, "
    "fk.evidence",
    "freqCalc freq_calc RiskModel indivRisk measure_risk measurement measure uniqueness "
    "reidentification_risk individual_risk global_risk equivalence_classes": "fk.risk(table, "
    'quasi_identifiers=["age", "zip"])',
    "suda suda2 dis": "fk.risk(table, quasi_identifiers=[...]).suda",
    "localSuppression kAnon": "fk.publish(table, policy, method=fk.FullDomain(suppression=0.05, "
    "local_suppression=True))",
    "globalRecode microaggregation pram addNoise add_noise "
    "noise": "Foreknow generalizes and suppresses by groups: fk.publish(table, policy)",
    "information_loss loss ncp discernibility average_ecsize": "fk.utility(release, table, "
    "policy=policy)",
    "dp differential_privacy laplace": "Foreknow has no differential privacy; fk.publish(table, "
    "policy) limits how sure adversaries become",
    "datasets load_adult": "fk.sample.load()",
    "validate": 'fk.verify("folder"); of a policy file, fk.Policy("policy.toml")',
    "Error Exception": "fk.ForeknowError",
    "m_invariance": "fk.publish(table, policy, after=[...])",
}
# Options that a command has not, and what to type.
_OPTIONS = {
    "-q": "-q is --quiet; columns are named by --quasi-identifiers age,sex (or --qi)",
    "-k": "k-anonymity is --k-anonymity 5 (or --k 5)",
    "-f --force --overwrite": "nothing is written over: name a new folder, or remove it first",
    "--format": "findings as JSON are --json FILE, and --json - to a pipe",
    "--output --out -o": "--html FILE writes a page, --json FILE plain values",
    "-v": "--verbose says what columns were taken for; foreknow --version prints the version",
    "-i --input": "the table is named without an option: foreknow COMMAND TABLE",
    "--sep": "the separator of a CSV file is --delimiter",
    "extra": "columns are named with commas between: --quasi-identifiers age,zip",
    "--html": "--out FILE names the page of a release; foreknow audit RELEASE --html FILE writes "
    "that of a verdict",
    "--dry-run": "foreknow compare TABLE shows what methods would keep, and writes no release",
}

# Parameters that belong elsewhere, and where.
_ELSEWHERE = {
    "suppression suppression_limit max_suppression supp_level": "; it is for a method: "
    "method=fk.FullDomain(suppression=0.05)",
    "local_suppression localSuppression": "; it is for a method: "
    "method=fk.FullDomain(suppression=0.05, local_suppression=True)",
    "r": "; it is for a method: method=fk.ART(r=4)",
}

# What objects are asked for that they do not have.
_OF_OBJECTS = {
    "to_pandas to_polars to_arrow to_frame df frame data table to_csv to_parquet to_excel head": (
        "the table is .to_pandas() of what fk.publish returned; of a folder, fk.read_release"
    ),
    "to_json json dict asdict as_dict": "see .to_dict()",
    "to_dataframe": "see .to_frame()",
    "failed violations failures": "see .verdicts, each with .safe",
    "to_toml": "see .save(path)",
    "plot show draw figure html report save": "see .summary() and .to_html(path)",
    "fit fit_transform transform anonymize get_params": "it is given to fk.publish(table, policy, "
    "method=...)",
    "is_safe passed ok result": "see .safe",
    "k": "see fk.k_anonymity(release)",
    "score risk value values unique uniqueness highest average max mean": "see .to_dict()",
}


def _by_name(table: Mapping[str, str]) -> dict[str, str]:
    """What is said of each name."""
    return {name: hint for names, hint in table.items() for name in names.split()}


# Of a name that is not in `foreknow`, and of what an object does not have.
ADVICE, OF_OBJECTS = _by_name(_ADVICE), _by_name(_OF_OBJECTS)
OPTIONS, ELSEWHERE = _by_name(_OPTIONS), _by_name(_ELSEWHERE)


class CallableModule(ModuleType):
    """A folder that is an attribute of `foreknow`, where others look for a function."""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Call that function; where there is none, say what to type."""
        package, _, name = self.__name__.rpartition(".")
        return vars(sys.modules[package])["__getattr__"](name)(*args, **keywords)


def own_name(name: str, parameter_names: Iterable[str]) -> str | None:
    """The parameter that another name stands for, if a function has it.

    >>> own_name("qi", ["table", "quasi_identifiers"]), own_name("k", ["k", "k_anonymity"])
    ('quasi_identifiers', None)
    """
    parameter = PARAMETERS.get(name)
    return (
        parameter
        if parameter in (parameter_names := set(parameter_names)) and name not in parameter_names
        else None
    )


def renamed(
    arguments_by_name: Mapping[str, Any], parameter_names: list[str], filled: int
) -> dict[str, Any]:
    """Arguments by name, under the names that a function has for them; it has `filled` others."""
    arguments: dict[str, Any] = {}
    for name, value in arguments_by_name.items():
        target = own_name(name, parameter_names)
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
