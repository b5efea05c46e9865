# Doxygen's input filter (sed -E -f): the headers' plain // sentences become documentation. What Doxygen would read as markup is escaped.
/^[[:space:]]*\/\/ / {
  s/[\\#<@]/\\&/g
  s/::([a-z_]+\(\))/\\::\1/g
  s|^([[:space:]]*)// |\1/// |
}
/[;,{]  *\/\/ / {
  s|([;,{]) +// |\1 ///< |
  :next
  s/(\/\/\/< ([^\\]|\\\\)*)\\([^\\]|$)/\1\\\\\3/
  t next
}
