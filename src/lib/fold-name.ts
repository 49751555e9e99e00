// One form for all names that some file system treats as the same file: ignores case, accent composition, and invisible characters. Pure.

const NOT_SHOWN = /\p{Default_Ignorable_Code_Point}/gu

/** Lower, upper and lower again is a full case fold: ẞ becomes ß, SS and ss; ς and ſ become σ and s. Better to treat too many names as equal than too few. */
export const foldName = (name: string): string =>
  name.normalize('NFD').replace(NOT_SHOWN, '').toLowerCase().toUpperCase().toLowerCase().normalize('NFD')
