"""The mistakes that errors are about: title, sentence and way out (if there is one) of each code.

Each `raise` gives a code and a value for each field in braces: the first one by its place, others by
their names.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple


class Message(NamedTuple):
    """An error's title, its sentence, and its way out, if there is one."""

    title: str
    template: str
    way_out: str = ""

    @property
    def subject(self) -> list[str]:
        """The name of its first field, if it has one."""
        return re.findall(r"{(\w+)", self.template)[:1]

    def filled(self, fields: dict[str, Any]) -> str:
        """The sentence with its way out, and with values for its fields."""
        return "; ".join(filter(None, self[1:])).format(**fields)


# A row each: code | title | sentence | way out, if there is one.
_TABLE = '''
# Combinations of features that nobody judges.
relative-links | `at_most_times` with priors and links (`m` above 0) | {where}: at_most_times cannot be judged with priors and links | leave links out (m = 0), or give below or at_most
whole-after | `--whole` with `--after` | {where}: a release of everybody repeats the people of earlier releases | leave whole out: then only the new people are published, and judged together with the earlier releases
bucketized-sets | form = "bucketized" with semantics "set" or "multiset" | {where}: the bucketized form is for people with one value each | publish with form = "generalized"
bucketized-shared | form = "bucketized" with `shared` | {where}: the bucketized form does not say whose row shows the value of a household | publish with form = "generalized", or leave shared out and publish a table with one row for each household
shuffled-known | `knowing` names a shuffled column, and the secret is shuffled, too | {where}: both columns are in `unlinked`, and shuffled separately, so one says nothing about the other | leave the column out of knowing, or take one of the two out of unlinked
impossible-linked | `impossible` has a rule on another column of the secret's rows, and there are links (`m` above 0), `within`, several cases per person, or other knowledge than facts and negations | {where}: a rule on one column also says something about the other in the same row, which is counted only for facts without links and for negations | name the column with the rule in knowing, publish one of the two columns in unlinked, or require facts without links (m = 0) or negations
priors-beside | `priors` by a column of the secret's rows that `knowing` leaves out; or by a shuffled column, and `knowing` names others | {where}: the adversary of priors knows it of everybody, and the rows show it beside the secret, but the requirement does not count it as known | do not shuffle the column, and name it in knowing or leave knowing out
# Files that cannot be read.
no-file | No such file | {file} does not exist
not-a-file | No file | {file} is a pipe, a device or a folder | give a file
unreadable-file | Unreadable file | {file} cannot be read: {problem}
unusable-name | Unusable name of a file | {file!r}: the name is not UTF-8, or has a backslash beside one of * ? [ | rename the file
file-changed | File changed | {file} changed while it was read | run again when it is complete
large-file | Large file | {file} is larger than such a file can be
unpacks-too-large | Packed file too large | {file} has {size:,} bytes and unpacks to {unpacked:,} or more, which is no real table | save it again, or as CSV
too-many-columns | Too many columns | {file} has {columns:,} columns, and {most:,} are the most | take out those that are not needed
long-line | Line too long | {file}, {place}: longer than 2 MB; is this a table with a line for each row?
not-utf-8 | Not UTF-8 | {file}, {place}: not UTF-8 | save it again as UTF-8
null-character | Null character | {file}, line {line}: a null character; is it a text file?
no-header | No header | {file} {problem} | its first line must name the columns
uneven-row | Uneven row | {file}, line {line}: {cells} fields where the header has {columns}
empty-line | Empty line | {file} has an empty line, which some readers skip and others take for a row | remove it; where a file has one column, "" is a missing value
no-rows | No rows | the release has no rows
rows-lost | Rows lost | {file} has more or fewer rows than were read; is a line longer than 2 MB?
stray-quote | Stray quote | {file}, line {line}: a quote with something beside it, such as a space | put the whole field in quotes, and write a quote in it twice, such as "say ""a"""
mixed-lines | Ends of lines | {file} ends some lines by a carriage return alone, after which a space may be lost | end each line by a newline
open-quote | Open quote | {file}: a quote is not closed
ambiguous-type | Ambiguous type | a column is of type {type}, in which values may print alike | make it a text
two-empties | Two empty values | a column has empty fields and ""; some readers take these for two values | write one of them
mixed-formulas | Formulas with and without a mark | a column has a formula with the mark of one, and without
bare-formula | Formula without a mark | {value!r} is a formula, and formulas are certified as escaped
parquet-layout | Other layout | {file} is not laid out as publish writes Parquet, and may hold more than its columns | publish the table again
# Columns and roles.
unknown-column | Unknown column | {where} has no column {column!r}
not-one-column | Not one column | {where} needs exactly one column {column!r}
unaccounted-column | Unaccounted column | {where} has a column {column!r}, which its policy does not account for
odd-columns | Odd columns | the columns of {where} are not plain
other-columns | Other columns | {files} have other columns, or another form, and cannot be read as one
not-called-shuffled | Shuffled column | the column {column!r} is shuffled within groups, and must be called '{column}_shuffled'
no-columns | No columns | {key} names no column
two-roles | Two roles | column {column!r} has two roles
not-sensitive | Not sensitive | {key}: {column!r} is no sensitive column
sensitive-condition | Sensitive condition | {key}: where names {column!r}, which is sensitive
which-column | Which column | {key} does not say of which column its values are
known-and-hidden | Known and hidden | {column!r} cannot be both known and what must stay hidden
no-exact-columns | No exact columns | it is not said by which columns people can be recognized
# Settings of a policy or a certificate.
not-a-number | Not a number | {given} is not a number | write one such as 0.95, or a fraction such as "2/3"
out-of-range | Out of range | {key} must be {right}, not {given}
too-many-digits | Too many digits | {given} is too large or too small | give at most {most} digits
wrong-after | Wrong folders | after is a folder that publish wrote, or a list of these, not {given!r}
wrong-setting | Wrong setting | {key} has settings that do not fit together, or of which nothing can be judged
unknown-key | Unknown key | {where} {problem}
missing-key | Missing key | {where} {problem}
wrong-type | Wrong type | {where} {problem}
wrong-value | Wrong value | {where} {problem}
out-of-bounds | Out of bounds | {where} {problem}
wrong-table | Wrong table | {where}: {problem}
malformed-tree | Malformed tree | the rows of a tree are lists of one length, from 2 on: each value once, and each node below one other
not-listed | Not listed | {where} does not list {value!r}
no-level | No such level | levels: its hierarchy has no such level
wrong-range | Wrong range | a range has from, to or both: numbers or dates, the first not above the second; not {given!s:.60}
wrong-pattern | Wrong pattern | {value!r:.40} says of no value how it begins | "B20*" stands for every value that begins with B20
wrong-width | Wrong width | within = {given!r:.40} cannot be read for these values | give a number above 0, a percentage, or a time such as "7 days" where dates are values
not-comparable | Not comparable | {key} is about numbers or dates, and {value!r:.40} cannot be compared with the others
one-limit | One limit | {key} needs exactly one limit, or one in each point
limit-of-priors | Limit of priors | {key} is for one adversary with priors
not-by-itself | Not by itself | {key} is about whole groups, and stands by itself | make it a requirement of its own
one-value-only | One value only | {key} is about one value per person
cases-only | Cases only | {key} are judged of single cases, and not of people with several | leave person out of the schema
unknown-kind | Unknown kind | this version cannot verify {key!r}
no-rules | No rules | {key} say nothing of values that some people cannot have (impossible) | ask by facts or negations, or leave impossible out
no-windows | No windows | within is for windows of numbers, of which {key} say nothing
wrong-sets | Wrong sets | {key} cannot be about such sets of values
set-of-all | Set of all values | any_of is of some values, not of all, and not where a person may have several of them, each once
spelt-twice | Spelt twice | {key} with distance = "ordered": two values are one number, such as 2 and 2.0 | write them alike, or list them in `order`
spelt-otherwise | Spelt otherwise | {where}: nobody has {value!r}, but {same!r} is the same number or word | write it as the table does: {same!r}
impossible-shared | Impossible and shared | impossible is about people, and shared about households
impossible-in-part | Impossible in part | {value!r} is counted as one value, and some people cannot have all of its values
impossible-group | Impossible group | group {group} has values that too few people there can have, by what the schema says is impossible
no-truth-value | No truth value | {what} is neither true nor false by itself | ask .safe
# Priors and populations.
malformed-priors | Malformed priors | the priors of the certificate cannot be read: {problem}
not-kept-priors | Not kept priors | {file} does not hold the priors of a release, as publish writes them to priors.json: it {problem}
no-probability | No probability | the certificate has no probability of {value!r} for people with {group}
no-world | No world | the priors allow no way to assign the values of a group
prior-of-nobody | Prior of nobody | nobody has {value!r}, which is likely by binary priors of a set that it is in
no-population | No population | the population {given!s:.200} is not at hand | name it (--population)
other-population | Other population | the population is none of this table: it has fewer people in group {group} than the table
person-twice | Person twice | the population has somebody in several rows, by the columns that name people
ambiguous-label | Ambiguous label | {value!r} of {column!r} can be read in two ways, and other people of the population fall in each | name it otherwise, in the hierarchy or in the table and the population
# A release, compared with its certificate.
not-json | Not JSON | {file} is not JSON: {problem} | {advice}
not-a-certificate | Not a certificate | {file} is not a foreknow certificate
other-version | Other version | {file} is of version {given!s:.40}, which this program does not know | use the version that wrote it
contradicts-itself | Contradicts itself | {file} contradicts itself: {problem}
nothing-certified | Nothing certified | the certificate certifies nothing: it has no files or no findings, and was never written
digest-differs | Digest differs | {file} is not what was certified (digest differs)
uncertified-file | Uncertified file | {problem}
not-safe | Not safe | {problem}
other-figures | Other figures | {problem}
other-remarks | Other remarks | {problem}
nothing-judged | Nothing judged | {problem}
not-as-certified | Not as certified | {problem}
not-verified | Not verified | not verified: all else is as certified, but {problem}
not-of-the-release | Not of the release | {file} is no file of the release that certificate.json names | give the folder, or a file of it
not-asked-for | Not asked for | {key}: the certificate refers to nothing of that kind | leave it out
other-releases | Other releases | the certificate names other releases as published before, by their digests | name all of them, and no others (after, --after)
unnamed-release | Unnamed release | {file} was published after another release, which the certificate does not name
not-together | Not together | {key} cannot be judged of several releases together
people-differ | People differ | the people and the sensitive values of the groups do not match: group {group} has more of one than of the other
missing-value | Missing value | a sensitive value is missing in group {group}
no-count | No count | group {group}: {value!r} has no count | write a whole number above 0
listed-twice | Listed twice | group {group} lists {value!r} more than once
# Beyond what can be computed.
too-large | Too large | {what} is too large to be verified exactly
too-close | Too close | {what} is too close to its limit to be verified
not-enough-memory | Not enough memory | not enough memory for {what} | use a machine with more, raise the limit on this process if it has one (ulimit -v, --memory), or give fewer columns or rows, Parquet rather than CSV
'''
_ROWS = [row.split(" | ") for row in _TABLE.splitlines() if row and row[0] != "#"]
MESSAGES = {code: Message(*parts) for code, *parts in _ROWS}
