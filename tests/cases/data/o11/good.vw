1 |t late:2 cash
-1 |t day friend
