// What people call a kind in a sentence: "set" for a MachineComponentSet.

/** Those whose last word says something else, or that people call by another one. */
const CALLED: Readonly<Partial<Record<string, string>>> = {
  MachineSet: 'machine set',
  NodeRemedier: 'rule',
}

/** Its last word, which is how commands name most of them too. */
export const nounOf = (kind: string): string => CALLED[kind] ?? (/[A-Z][a-z]+$/.exec(kind)?.[0] ?? kind).toLowerCase()

export const capitalized = (text: string): string => `${text.charAt(0).toUpperCase()}${text.slice(1)}`
