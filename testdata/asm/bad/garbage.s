 ][ ~~ @@ ''' \ ` $$$ 
(((((
1:2:3: mov64
: exit
= 5
"quoted
,,,
.globl entrypoint
entrypoint:
    exit
