"""Wrong: makes a new key for each attempt, so that the server takes each for another payment."""

import right

right.key_of_attempt = lambda key: right.new_key()

right.main()
