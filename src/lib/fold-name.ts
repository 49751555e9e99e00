// One form for all names that some file system takes for the same file: case, accents composed or not, and characters that are not shown do not count. Pure.

const NOT_SHOWN = /\p{Default_Ignorable_Code_Point}/gu

/** Lower, upper and lower again is a full case fold: ẞ becomes ß, SS and ss; ς and ſ become σ and s. Rather too many names are equal than too few. */
export const foldName = (name: string): string =>
  name.normalize('NFD').replace(NOT_SHOWN, '').toLowerCase().toUpperCase().toLowerCase().normalize('NFD')
