"""Wrong: never gives up."""

import right

right.RETRIES = None

right.main()
