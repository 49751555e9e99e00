// What people call a kind in a sentence: "set" for a MachineComponentSet.

/** Its last word, which is how commands name it too. A MachineSet is the other kind of set. */
export const nounOf = (kind: string): string =>
  (kind === 'MachineSet' ? 'machine set' : (/[A-Z][a-z]+$/.exec(kind)?.[0] ?? kind)).toLowerCase()

export const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
