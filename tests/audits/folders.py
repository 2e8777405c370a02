"""What tests of audits do with the folder of a release."""

import json

import foreknow as fk


def written(table, policy, folder, **how):
    """What is published of a table, which lies in a folder."""
    publication = fk.publish(table, policy, **{"seed": 1, "learned": False, **how})
    publication.write(folder)
    return publication


def forge(folder, change):
    """Let a function change the certificate of a folder."""
    path = folder / "certificate.json"
    certificate = json.loads(path.read_text("utf-8"))
    change(certificate)
    path.write_text(json.dumps(certificate), "utf-8")


def settings_of(certificate, **changed):
    """Change settings of the first requirement of a certificate."""
    certificate["policy"]["require"][0].update(changed)
