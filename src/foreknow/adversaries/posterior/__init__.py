"""What somebody who knows the statistics concludes about each person of a release."""
