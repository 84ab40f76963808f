"""Wrong: sends again what the server has refused, and would refuse again."""

import right

right.may_succeed_later = lambda status: True

right.main()
