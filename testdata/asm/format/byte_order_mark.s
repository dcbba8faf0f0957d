a: exit


