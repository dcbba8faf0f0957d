a:


  exit;x
; y  
