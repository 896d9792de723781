# cmake -DIN=file -DOUT=file -P embed.cmake -- the bytes of a file as numbers, for an array in C.
file(READ ${IN} bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${bytes}")
file(WRITE ${OUT} "${bytes}\n")
