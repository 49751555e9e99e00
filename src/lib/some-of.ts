// Names in a sentence: the first few, and a count of the rest.
export const someOf = (names: readonly string[], most: number, between = ', '): string =>
  names.length <= most ? names.join(between) : `${names.slice(0, most).join(between)} and ${names.length - most} more`
