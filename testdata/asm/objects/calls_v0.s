; version: v0
.include "calls.s"
