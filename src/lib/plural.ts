// The plural of a kind or noun, as names of resources are formed: policies of policy, sets of set.

export const pluralOf = (noun: string): string => (noun.endsWith('y') ? `${noun.slice(0, -1)}ies` : `${noun}s`)
