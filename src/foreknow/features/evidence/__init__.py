"""All that was measured of a written release, for somebody who must accept it."""
