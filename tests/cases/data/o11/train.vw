1 |t look http://a.example/b at 11:45
-1 |t take x|y or z
1 |t share:0.5 length:abc
-1 |t :4 bare
1 |t where=LINE (2.5 3.5)
-1 1.0 'tag9|t fine
y |t unknown label
1 |t mass:nan huge:1e500
1
