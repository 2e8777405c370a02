"""What if they knew this: concrete statements about named people, and what follows from them."""

from foreknow.adversaries.statements.formulas import Has, parse, same
from foreknow.adversaries.statements.posterior import Posterior, Posteriors
from foreknow.adversaries.statements.statements import BUDGET, Statements

__all__ = ["BUDGET", "Has", "Posterior", "Posteriors", "Statements", "parse", "same"]
